#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/timing_facts.hpp"

namespace roundtrip {

/// Numbers of repetitions in one batch of an arm.
struct Repetitions {
  std::int64_t warm = 0;   ///< not timed, before the timed ones
  std::int64_t timed = 1;  ///< at least one
  bool each = false;       ///< time each repetition by itself
};

/// Result of a batch on one rank.
struct Timing {
  /// Total of the timed repetitions, or one value for each of them. Zeros on a rank whose clock is
  /// not used: the survey takes the maximum over the ranks.
  std::vector<double> seconds;
  /// Error in the data that this rank received, and its place; empty if the data is right.
  std::optional<std::string> fault = std::nullopt;
};

/// An alternative that a survey compares, such as a way to send a message. Each rank of the survey
/// has one, and all ranks call its members in the same order. Only `prepare` may throw: in others,
/// another rank waits, and a rank that cannot continue has to end all ranks (MPI_Abort).
class Arm {
 public:
  Arm() = default;
  virtual ~Arm() = default;
  Arm(const Arm&) = delete;
  Arm& operator=(const Arm&) = delete;

  /// Name of the arm, in column `variant` of samples.csv.
  [[nodiscard]] virtual std::string name() const = 0;

  /// Prepares for messages of `bytes` bytes. Local, not timed; may throw Failure.
  virtual void prepare(std::int64_t bytes) { static_cast<void>(bytes); }

  /// Collective, not timed: one repetition into memory that holds wrong data before it. Returns
  /// the error in the data that this rank received, and its place; empty if the data is right.
  virtual std::optional<std::string> verify() = 0;

  /// Collective: one batch.
  virtual Timing time(const Repetitions& repetitions) = 0;

  /// How `time` measures.
  [[nodiscard]] virtual TimingFacts facts() const = 0;

  /// Whether `time` can time each repetition by itself.
  [[nodiscard]] virtual bool times_each() const { return false; }
};

using Arms = std::vector<std::unique_ptr<Arm>>;

}  // namespace roundtrip
