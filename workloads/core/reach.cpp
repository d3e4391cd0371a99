#include "core/reach.hpp"

#include <algorithm>
#include <utility>

namespace roundtrip {

void Reach::admit(Point& point, double dearest_s) {
  constexpr double slow = 3;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (!goes_on(i, point.bytes)) continue;
    point.arms.push_back({.index = i, .repetition_s = models_[i].repetition_s(point.bytes)});
  }
  const double fastest_s = std::ranges::min(point.arms, {}, &ArmAtSize::repetition_s).repetition_s;
  std::erase_if(point.arms, [&](const ArmAtSize& arm) {
    const bool too_slow =
        models_[arm.index].reaches(point.bytes) && point.bytes > measured_[arm.index] &&
        arm.repetition_s > slow * fastest_s && batches_.point_s(arm.repetition_s) > dearest_s;
    if (too_slow) bounded_[arm.index] = point.bytes;
    return too_slow;
  });
  for (const ArmAtSize& arm : point.arms) {
    measured_[arm.index] = std::max(measured_[arm.index], point.bytes);
  }
}

double Reach::dearest_s(const std::vector<Point>& points, double time_left_s, double fair_s) const {
  std::vector<double> costs;
  for (const Point& point : points) {
    if (!point.arms.empty()) continue;
    for (std::size_t arm = 0; arm < models_.size(); ++arm) {
      if (!goes_on(arm, point.bytes)) continue;
      costs.push_back(batches_.point_s(models_[arm].repetition_s(point.bytes)));
    }
  }
  // A repetition that fits in the shortest batch costs what a byte costs: no reason to stop there.
  return dearest_point_s(time_left_s, std::move(costs), std::max(batches_.point_s(1e-6), fair_s));
}

}  // namespace roundtrip
