#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/timing_facts.hpp"

namespace roundtrip {

/// How often an arm repeats what it measures in one batch.
struct Repetitions {
  std::int64_t warm = 0;   ///< not timed, before the others
  std::int64_t timed = 1;  ///< at least one
  bool each = false;       ///< time each by itself
};

/// What a rank found in a batch.
struct Timing {
  /// Of all timed repetitions together, or one value for each of them. Zeros on a rank whose clock
  /// does not count: the survey takes the maximum over the ranks.
  std::vector<double> seconds;
  /// What is wrong with the data that this rank received, where; nothing if it is right.
  std::optional<std::string> fault = std::nullopt;
};

/// One of the things that a survey compares, such as a way to send a message. Each rank of the
/// survey has one, and all ranks call its members in the same order. Only `prepare` may throw: in
/// the others, another rank waits, and a rank that cannot go on has to end all (MPI_Abort).
class Arm {
 public:
  Arm() = default;
  virtual ~Arm() = default;
  Arm(const Arm&) = delete;
  Arm& operator=(const Arm&) = delete;

  /// Its name, in column `variant` of samples.csv.
  [[nodiscard]] virtual std::string name() const = 0;

  /// What follows is for messages of `bytes` bytes. Local, not timed; may throw Failure.
  virtual void prepare(std::int64_t bytes) { static_cast<void>(bytes); }

  /// Collective, not timed: one repetition into memory that holds wrong data right before. Returns
  /// what is wrong with what this rank received, where; nothing if it is right.
  virtual std::optional<std::string> verify() = 0;

  /// Collective: one batch.
  virtual Timing time(const Repetitions& repetitions) = 0;

  /// How `time` takes its times.
  [[nodiscard]] virtual TimingFacts facts() const = 0;

  /// Whether `time` can time each repetition by itself.
  [[nodiscard]] virtual bool times_each() const { return false; }
};

using Arms = std::vector<std::unique_ptr<Arm>>;

}  // namespace roundtrip
