#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/command_loop.hpp"
#include "core/interleaver.hpp"
#include "core/median.hpp"
#include "core/planner.hpp"

namespace roundtrip {

/// State of an arm at one size.
struct ArmAtSize {
  std::size_t index = 0;                   ///< of the arm
  double repetition_s = 0;                 ///< estimated seconds of one repetition
  std::vector<double>* samples = nullptr;  ///< seconds of a part of a repetition; not owned
  std::optional<Estimate> estimate = std::nullopt;
  bool converged = false;
  std::size_t batches = 0;                        ///< number of recorded batches
  std::size_t look = StoppingRule::next_look(0);  ///< number of samples at the next estimate
};

/// Definition of a sample, and number of samples of a median.
struct Sampling {
  double precision = 0.02;  ///< target relative half-width of the median's interval
  int parts = 1;            ///< successive parts of a repetition, such as messages
  /// Whether each repetition of a batch is a sample, instead of their mean.
  bool each = false;
  std::size_t fewest_batches = 1;  ///< minimum before a median counts as precise
  /// Maximum samples of a point that is not precise.
  std::size_t most_samples = std::numeric_limits<std::size_t>::max();
};

/// Rounds of a survey at one size: in each, every arm does one batch, in random order.
class Rounds {
 public:
  Rounds(CommandLoop& loop, const BatchPlan& batches, const Sampling& sampling, std::uint32_t seed);

  /// Verifies each arm's data at this size, then estimates the time of a repetition to size its
  /// batches; records no samples. Throws Failure(wrong_data).
  void warm_up(std::vector<ArmAtSize>& arms, std::int64_t bytes);

  /// Executes rounds, at least one, until `done` or until `goes_on` returns false.
  void repeat(std::vector<ArmAtSize>& arms, std::size_t enough,
              const std::function<bool()>& goes_on);

  /// Whether each arm is precise or has `enough` samples.
  [[nodiscard]] static bool done(const std::vector<ArmAtSize>& arms, std::size_t enough);

  /// Estimated seconds of the next round.
  [[nodiscard]] double round_s(std::vector<ArmAtSize>& arms) const;

  /// Cost of each arm, estimated from its repetitions so far.
  std::vector<CostModel>& models() { return models_; }
  /// Number of unrecorded batches.
  [[nodiscard]] std::int64_t discarded() const { return discarded_; }

 private:
  std::vector<double> discarded_round(const std::vector<ArmAtSize*>& arms, bool verify);
  void timed_round(std::vector<ArmAtSize*> arms);
  [[nodiscard]] std::vector<ArmAtSize*> in_next_round(std::vector<ArmAtSize>& arms) const;
  void look_at(ArmAtSize& arm) const;

  CommandLoop& loop_;
  const BatchPlan& batches_;
  Sampling sampling_;
  Interleaver interleaver_;
  std::vector<CostModel> models_;  ///< of each arm
  std::int64_t discarded_ = 0;
};

}  // namespace roundtrip
