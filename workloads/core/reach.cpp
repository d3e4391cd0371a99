#include "core/reach.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace roundtrip {

void Reach::admit(Point& point, double dearest_s, double most_s) {
  constexpr double slow = 3;
  double fastest_s = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (!goes_on(i, point.bytes)) continue;
    point.arms.push_back({.index = i, .repetition_s = models_[i].repetition_s(point.bytes)});
    fastest_s = std::min(fastest_s, point.arms.back().repetition_s);
  }
  bound_if(point, [&](const ArmAtSize& arm) {
    return arm.repetition_s > slow * fastest_s && batches_.point_s(arm.repetition_s) > dearest_s;
  });
  double round_s = 0;
  for (const ArmAtSize& arm : point.arms) round_s += batches_.batch_s(arm.repetition_s);
  bound_if(point, [&](const ArmAtSize& /*arm*/) { return 2 * round_s > most_s; });
  for (const ArmAtSize& arm : point.arms) {
    measured_[arm.index] = std::max(measured_[arm.index], point.bytes);
  }
}

/// Removes and bounds arms that are too slow, but only above the sizes that they were measured at,
/// and not where their estimated time is only an upper bound.
template <class TooSlow>
void Reach::bound_if(Point& point, TooSlow too_slow) {
  std::erase_if(point.arms, [&](const ArmAtSize& arm) {
    const bool bounds = models_[arm.index].reaches(point.bytes) &&
                        point.bytes > measured_[arm.index] && too_slow(arm);
    if (bounds) bounded_[arm.index] = point.bytes;
    return bounds;
  });
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
  // Points with the shortest batches cost the same at every size: no reason to bound an arm.
  return dearest_point_s(time_left_s, std::move(costs), std::max(batches_.point_s(1e-6), fair_s));
}

}  // namespace roundtrip
