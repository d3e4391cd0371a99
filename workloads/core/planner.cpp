#include "core/planner.hpp"

#include <algorithm>
#include <cmath>

namespace roundtrip {

void CostModel::observe(std::int64_t bytes, double seconds) {
  const auto [entry, added] = seen_.emplace(bytes, seconds);
  if (!added) entry->second = std::min(entry->second, seconds);
}

double CostModel::repetition_s(std::int64_t bytes) const {
  const auto upper = seen_.lower_bound(bytes);
  if (upper == seen_.begin()) return upper->second;
  const auto lower = std::prev(upper);
  const auto distance = [&](std::int64_t to) { return static_cast<double>(to - lower->first); };
  if (upper == seen_.end()) {
    const auto known = static_cast<double>(std::max<std::int64_t>(lower->first, 1));
    return lower->second * static_cast<double>(bytes) / known;
  }
  return lower->second + (upper->second - lower->second) * distance(bytes) / distance(upper->first);
}

BatchPlan::BatchPlan(const Pace& pace, const ClockQuality& clock)
    : pace_(pace), told_s_(4 * clock.resolution_s) {
  constexpr double factor = 100;
  pace_.shortest_s =
      std::max({pace.shortest_s, factor * clock.resolution_s, factor * clock.overhead_s});
}

std::int64_t BatchPlan::at_least(double least, double repetition_s) const {
  const double one_s = std::max(repetition_s, 1e-9);
  const double filling = std::min(least, std::floor(pace_.filling_s / one_s));
  return static_cast<std::int64_t>(
      std::clamp(std::max(filling, std::ceil(pace_.shortest_s / one_s)), 1.0, pace_.most));
}

std::int64_t BatchPlan::repetitions(double repetition_s) const {
  return at_least(pace_.least, repetition_s);
}

std::int64_t BatchPlan::on_trial(double repetition_s) const {
  return at_least(pace_.least_on_trial, repetition_s);
}

std::int64_t BatchPlan::warm(double repetition_s) const {
  return is_long(repetition_s) ? 0 : 1 + repetitions(repetition_s) / 16;
}

double BatchPlan::batch_s(double repetition_s) const {
  return repetition_s * static_cast<double>(repetitions(repetition_s) + warm(repetition_s));
}

double BatchPlan::point_s(double repetition_s, std::size_t samples) const {
  constexpr std::size_t warm_up_batches = 3;
  const std::size_t batches = samples + (is_long(repetition_s) ? 1 : warm_up_batches);
  return static_cast<double>(batches) * batch_s(repetition_s);
}

double dearest_point_s(double time_left_s, std::vector<double> costs, double never_bounded_s) {
  std::ranges::sort(costs);
  const double fair_s = std::max(never_bounded_s, time_left_s / static_cast<double>(costs.size()));
  double dearest_s = fair_s;
  double needed = 0;
  for (const double cost : costs) {
    if (cost > fair_s && needed + cost > time_left_s / 2) break;
    needed += cost;
    dearest_s = std::max(dearest_s, cost);
  }
  return dearest_s;
}

}  // namespace roundtrip
