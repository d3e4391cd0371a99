#include "core/rounds.hpp"

#include <algorithm>

namespace roundtrip {

Rounds::Rounds(CommandLoop& loop, const BatchPlan& batches, const Sampling& sampling,
               std::uint32_t seed)
    : loop_(loop),
      batches_(batches),
      sampling_(sampling),
      interleaver_(seed),
      models_(loop.arms().size()) {}

void Rounds::warm_up(std::vector<ArmAtSize>& arms, std::int64_t bytes) {
  constexpr double most_above_model = 2;
  std::vector<std::size_t> indices;
  std::vector<ArmAtSize*> all;
  for (ArmAtSize& arm : arms) {
    indices.push_back(arm.index);
    all.push_back(&arm);
  }
  loop_.prepare(indices, bytes);
  const auto checked_s = discarded_round(all, true);
  std::vector<ArmAtSize*> brief;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    arms[i].repetition_s = checked_s[i];
    // An interrupted check would make the batches too short for the clock.
    const CostModel& model = models_[arms[i].index];
    if (!model.empty()) {
      arms[i].repetition_s = std::min(checked_s[i], most_above_model * model.repetition_s(bytes));
    }
    if (!batches_.is_long(arms[i].repetition_s)) brief.push_back(&arms[i]);
  }
  for (int trial = 0; trial < 2 && !brief.empty(); ++trial) {
    const auto seconds = discarded_round(brief, false);
    for (std::size_t i = 0; i < brief.size(); ++i) {
      double& repetition_s = brief[i]->repetition_s;
      const auto repetitions = static_cast<double>(batches_.on_trial(repetition_s));
      repetition_s = std::min(repetition_s, seconds[i] / repetitions);
    }
  }
  for (const ArmAtSize& arm : arms) models_[arm.index].observe(bytes, arm.repetition_s);
}

std::vector<double> Rounds::discarded_round(const std::vector<ArmAtSize*>& arms, bool verify) {
  std::vector<Batch> batches;
  batches.reserve(arms.size());
  for (const ArmAtSize* arm : arms) {
    batches.push_back({.arm = arm->index,
                       .verify = verify,
                       .timed = verify ? 0 : batches_.on_trial(arm->repetition_s)});
  }
  discarded_ += static_cast<std::int64_t>(batches.size());
  std::vector<double> seconds;
  for (const auto& one : loop_.round(batches)) seconds.push_back(one.front());
  return seconds;
}

void Rounds::repeat(std::vector<ArmAtSize>& arms, std::size_t enough,
                    const std::function<bool()>& goes_on) {
  do {
    timed_round(in_next_round(arms));
  } while (!done(arms, enough) && goes_on());
  for (ArmAtSize& arm : arms) look_at(arm);
}

bool Rounds::done(const std::vector<ArmAtSize>& arms, std::size_t enough) {
  return std::ranges::all_of(
      arms, [&](const ArmAtSize& arm) { return arm.converged || arm.samples->size() >= enough; });
}

double Rounds::round_s(std::vector<ArmAtSize>& arms) const {
  double seconds = 0;
  for (const ArmAtSize* arm : in_next_round(arms)) seconds += batches_.batch_s(arm->repetition_s);
  return seconds;
}

/// All arms except converged ones whose batches take over twice as long as those of the others.
std::vector<ArmAtSize*> Rounds::in_next_round(std::vector<ArmAtSize>& arms) const {
  constexpr double dear = 2;
  double longest_s = 0;
  for (const ArmAtSize& arm : arms) {
    if (!arm.converged) longest_s = std::max(longest_s, batches_.batch_s(arm.repetition_s));
  }
  std::vector<ArmAtSize*> found;
  for (ArmAtSize& arm : arms) {
    if (!arm.converged || batches_.batch_s(arm.repetition_s) <= dear * longest_s) {
      found.push_back(&arm);
    }
  }
  return found;
}

void Rounds::timed_round(std::vector<ArmAtSize*> arms) {
  interleaver_.shuffle(arms);
  std::vector<Batch> batches;
  batches.reserve(arms.size());
  for (const ArmAtSize* arm : arms) {
    batches.push_back({.arm = arm->index,
                       .warm = batches_.warm(arm->repetition_s),
                       .timed = batches_.repetitions(arm->repetition_s),
                       .each = sampling_.each});
  }
  const auto seconds = loop_.round(batches);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    ArmAtSize& arm = *arms[i];
    const auto parts = static_cast<double>(sampling_.parts) *
                       static_cast<double>(sampling_.each ? 1 : batches[i].timed);
    for (const double one_s : seconds[i]) arm.samples->push_back(one_s / parts);
    ++arm.batches;
    if (arm.samples->size() < arm.look || arm.batches < sampling_.fewest_batches) continue;
    look_at(arm);
    arm.look = StoppingRule::next_look(arm.samples->size());
  }
}

void Rounds::look_at(ArmAtSize& arm) const {
  arm.estimate = estimate_median(*arm.samples);
  arm.converged = StoppingRule(sampling_.precision).reached(*arm.estimate);
}

}  // namespace roundtrip
