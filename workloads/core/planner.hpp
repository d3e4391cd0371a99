#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/clock.hpp"

namespace roundtrip {

/// Predicts how long one repetition of an arm takes at a size not yet measured.
class CostModel {
 public:
  /// Adds a repetition with `bytes` bytes that took `seconds`; the minimum of a size counts.
  void observe(std::int64_t bytes, double seconds);

  /// Seconds: linear between observed sizes, proportional to the size above them, constant below.
  /// Needs at least one observation.
  [[nodiscard]] double repetition_s(std::int64_t bytes) const;

  [[nodiscard]] bool empty() const { return seen_.empty(); }
  /// Whether `bytes` is at least the smallest observed size; below, the time is an upper bound.
  [[nodiscard]] bool reaches(std::int64_t bytes) const {
    return !seen_.empty() && seen_.begin()->first <= bytes;
  }

 private:
  std::map<std::int64_t, double> seen_;
};

/// Minimum number of samples of a point: the fewest with a 95 % interval of the median.
inline constexpr std::size_t fewest_samples = 6;

/// Length of the batches of a study.
struct Pace {
  /// Minimum duration of a batch, seconds; at least 100 times the clock's resolution and overhead.
  double shortest_s = 50e-6;
  /// Seconds of a repetition from which on one checked repetition suffices as warm-up.
  double long_s = 2e-3;
  /// Minimum repetitions of a batch, and of a trial batch, which only estimates the time of a
  /// repetition; fewer where they would take more than `filling_s` seconds.
  double least = 1;
  double least_on_trial = 1;
  double filling_s = 50e-3;
  /// Maximum repetitions of a batch.
  double most = 1e6;
};

/// Sizes the batches of one arm at one size by the seconds of one repetition.
class BatchPlan {
 public:
  BatchPlan(const Pace& pace, const ClockQuality& clock);

  /// Repetitions of a timed batch.
  [[nodiscard]] std::int64_t repetitions(double repetition_s) const;
  /// Repetitions of a trial batch, which is not recorded.
  [[nodiscard]] std::int64_t on_trial(double repetition_s) const;
  /// Untimed repetitions before a timed batch; 0 for long repetitions, whose cost they would
  /// double.
  [[nodiscard]] std::int64_t warm(double repetition_s) const;
  /// Whether one checked repetition suffices as warm-up.
  [[nodiscard]] bool is_long(double repetition_s) const { return repetition_s >= pace_.long_s; }
  /// Whether the clock resolves the time of one repetition to a quarter.
  [[nodiscard]] bool tells_one(double repetition_s) const { return repetition_s >= told_s_; }
  /// Seconds for a batch, untimed repetitions included.
  [[nodiscard]] double batch_s(double repetition_s) const;
  /// Seconds for a point, warm-up included.
  [[nodiscard]] double point_s(double repetition_s, std::size_t samples = fewest_samples) const;

 private:
  [[nodiscard]] std::int64_t at_least(double least, double repetition_s) const;

  Pace pace_;
  double told_s_;
};

/// Largest cost of a point, seconds, before its arm is bounded. `costs`: minimum cost of each
/// remaining point, one arm at one size. The most expensive are given up until the others need at
/// most half the time left. Points that cost at most `never_bounded_s` or an equal share of the
/// time left are not given up.
double dearest_point_s(double time_left_s, std::vector<double> costs, double never_bounded_s);

}  // namespace roundtrip
