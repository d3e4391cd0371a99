#include "netpipe/planner.hpp"

#include <algorithm>
#include <cmath>

namespace roundtrip::netpipe {

void CostModel::observe(std::int64_t size, double seconds) {
  const auto [entry, added] = seen_.emplace(size, seconds);
  if (!added) entry->second = std::min(entry->second, seconds);
}

double CostModel::exchange_s(std::int64_t size) const {
  const auto upper = seen_.lower_bound(size);
  if (upper == seen_.begin()) return upper->second;
  const auto lower = std::prev(upper);
  const auto distance = [&](std::int64_t to) { return static_cast<double>(to - lower->first); };
  if (upper == seen_.end()) {
    return lower->second * static_cast<double>(size) / static_cast<double>(lower->first);
  }
  return lower->second + (upper->second - lower->second) * distance(size) / distance(upper->first);
}

std::int64_t BatchPlan::exchanges(double exchange_s) const {
  constexpr double most = 1e6;
  return static_cast<std::int64_t>(
      std::clamp(std::ceil(shortest_s_ / std::max(exchange_s, 1e-9)), 1.0, most));
}

std::int64_t BatchPlan::warm(double exchange_s) const {
  return is_long(exchange_s) ? 0 : 1 + exchanges(exchange_s) / 16;
}

double BatchPlan::batch_s(double exchange_s) const {
  return exchange_s * static_cast<double>(exchanges(exchange_s) + warm(exchange_s));
}

double BatchPlan::point_s(double exchange_s, std::size_t samples) const {
  constexpr std::size_t warm_up_batches = 3;
  const std::size_t batches = samples + (is_long(exchange_s) ? 1 : warm_up_batches);
  return static_cast<double>(batches) * batch_s(exchange_s);
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

}  // namespace roundtrip::netpipe
