#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/planner.hpp"
#include "core/rounds.hpp"

namespace roundtrip {

/// A size of a survey, bytes, and the arms measured there; empty: not measured.
struct Point {
  std::int64_t bytes = 0;
  std::vector<ArmAtSize> arms = {};
  bool has_singles = false;
};

/// Range of sizes of each arm: a slow arm is bounded at the size from which on it would take the
/// time of the others.
class Reach {
 public:
  /// `models`: cost of each arm, updated during the survey.
  Reach(const BatchPlan& batches, const std::vector<CostModel>& models)
      : batches_(batches), models_(models), measured_(models.size()), bounded_(models.size()) {}

  /// Sets the arms of this point. Bounds from here on the arms that are slow, relative to the
  /// fastest, and cost more than `dearest_s` seconds; then all, if two rounds of the others would
  /// take longer than `most_s` seconds.
  void admit(Point& point, double dearest_s, double most_s);

  /// Largest cost of an arm at a point without arms, seconds, before it is bounded; at least
  /// `fair_s`.
  [[nodiscard]] double dearest_s(const std::vector<Point>& points, double time_left_s,
                                 double fair_s) const;

  [[nodiscard]] bool goes_on(std::size_t arm, std::int64_t bytes) const {
    return !bounded_[arm] || bytes < *bounded_[arm];
  }
  /// Smallest size at which the arm is too slow; empty if it is not bounded.
  [[nodiscard]] std::optional<std::int64_t> bound(std::size_t arm) const { return bounded_[arm]; }

 private:
  template <class TooSlow>
  void bound_if(Point& point, TooSlow too_slow);

  const BatchPlan& batches_;
  const std::vector<CostModel>& models_;
  std::vector<std::int64_t> measured_;  ///< largest size with samples, of each arm
  std::vector<std::optional<std::int64_t>> bounded_;
};

}  // namespace roundtrip
