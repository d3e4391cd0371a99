#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/planner.hpp"
#include "core/rounds.hpp"

namespace roundtrip {

/// A size of a survey in bytes, and the arms that are measured there; none: not measured.
struct Point {
  std::int64_t bytes = 0;
  std::vector<ArmAtSize> arms = {};
  bool has_singles = false;
};

/// How far along the sizes each arm goes: a slow one is bounded at the size from which on the
/// others would lack its time.
class Reach {
 public:
  /// `models`: what each arm takes, learnt meanwhile.
  Reach(const BatchPlan& batches, const std::vector<CostModel>& models)
      : batches_(batches), models_(models), measured_(models.size()), bounded_(models.size()) {}

  /// Makes the arms of this point: all but slow ones that cost more than `dearest_s` seconds, which
  /// are bounded from here on. Slow is relative to the fastest arm. All are bounded where two
  /// rounds of those left would take longer than `most_s` seconds.
  void admit(Point& point, double dearest_s, double most_s);

  /// What one of the points without arms may cost, seconds, with so much time left; what costs no
  /// more than `fair_s` may.
  [[nodiscard]] double dearest_s(const std::vector<Point>& points, double time_left_s,
                                 double fair_s) const;

  [[nodiscard]] bool goes_on(std::size_t arm, std::int64_t bytes) const {
    return !bounded_[arm] || bytes < *bounded_[arm];
  }
  /// The smallest size that would take the arm too long; nothing if none would.
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
