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

/// An arm at one size: what is known of it there.
struct ArmAtSize {
  std::size_t index = 0;                   ///< of the arm
  double repetition_s = 0;                 ///< what one repetition takes
  std::vector<double>* samples = nullptr;  ///< seconds of a part of a repetition, kept elsewhere
  std::optional<Estimate> estimate = std::nullopt;
  bool converged = false;
  std::size_t batches = 0;                        ///< that were recorded
  std::size_t look = StoppingRule::next_look(0);  ///< samples at which to look at the estimate
};

/// What a sample is, and how many make a median.
struct Sampling {
  double precision = 0.02;  ///< relative half-width of the median's interval to reach
  int parts = 1;            ///< of a repetition, one after the other, such as messages
  /// Whether each repetition of a batch gives a sample, instead of all of them together.
  bool each = false;
  std::size_t fewest_batches = 1;  ///< before a median counts as precise
  /// Samples of a point, though it is not precise.
  std::size_t most_samples = std::numeric_limits<std::size_t>::max();
};

/// Rounds of a survey at one size: in each, every arm does one batch, in random order.
class Rounds {
 public:
  Rounds(CommandLoop& loop, const BatchPlan& batches, const Sampling& sampling, std::uint32_t seed);

  /// Checks each arm's data at this size, then lets it run until its batches can be sized; what it
  /// did is not recorded. Throws Failure(wrong_data).
  void warm_up(std::vector<ArmAtSize>& arms, std::int64_t bytes);

  /// Rounds until `done`, at least one, as long as `goes_on`.
  void repeat(std::vector<ArmAtSize>& arms, std::size_t enough,
              const std::function<bool()>& goes_on);

  /// Whether each arm is precise or has `enough` samples.
  [[nodiscard]] static bool done(const std::vector<ArmAtSize>& arms, std::size_t enough);

  /// Seconds of the next round.
  [[nodiscard]] double round_s(std::vector<ArmAtSize>& arms) const;

  /// What each arm is expected to take, learnt from all that it did.
  std::vector<CostModel>& models() { return models_; }
  /// Batches that were not recorded.
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
