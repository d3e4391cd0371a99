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
  /// One repetition with `bytes` bytes took `seconds`. The best time of a size counts.
  void observe(std::int64_t bytes, double seconds);

  /// Seconds: linear between observed sizes, proportional to the size above them, constant below.
  /// Needs at least one observation.
  [[nodiscard]] double repetition_s(std::int64_t bytes) const;

  [[nodiscard]] bool empty() const { return seen_.empty(); }
  /// Whether a size so small was seen; the time of a smaller one is only known to be no longer.
  [[nodiscard]] bool reaches(std::int64_t bytes) const {
    return !seen_.empty() && seen_.begin()->first <= bytes;
  }

 private:
  std::map<std::int64_t, double> seen_;
};

/// Fewest samples of a point: the least for which a 95 % interval of the median exists.
inline constexpr std::size_t fewest_samples = 6;

/// How long the batches of a study are.
struct Pace {
  /// A batch lasts at least so many seconds, and a hundred times what the clock costs and resolves.
  double shortest_s = 50e-6;
  /// Seconds of a repetition for which one checked repetition is warm-up enough.
  double long_s = 2e-3;
  /// Repetitions of a batch, and of a batch that only tells how long a repetition takes: at least
  /// so many, as long as they take no more than `filling_s` seconds.
  double least = 1;
  double least_on_trial = 1;
  double filling_s = 50e-3;
  /// Repetitions of a batch, at most.
  double most = 1e6;
};

/// Batches of one arm at one size, from the seconds that one repetition takes.
class BatchPlan {
 public:
  BatchPlan(const Pace& pace, const ClockQuality& clock);

  /// Repetitions of a timed batch.
  [[nodiscard]] std::int64_t repetitions(double repetition_s) const;
  /// Repetitions of a batch that is not recorded.
  [[nodiscard]] std::int64_t on_trial(double repetition_s) const;
  /// Repetitions before a timed batch that are not timed; none for long repetitions, which they
  /// would make twice as costly.
  [[nodiscard]] std::int64_t warm(double repetition_s) const;
  /// Whether one checked repetition is warm-up enough.
  [[nodiscard]] bool is_long(double repetition_s) const { return repetition_s >= pace_.long_s; }
  /// Whether the clock tells the time of one repetition to a quarter.
  [[nodiscard]] bool tells_one(double repetition_s) const { return repetition_s >= told_s_; }
  /// Seconds for a batch, what is not timed included.
  [[nodiscard]] double batch_s(double repetition_s) const;
  /// Seconds for a point, warm-up included.
  [[nodiscard]] double point_s(double repetition_s, std::size_t samples = fewest_samples) const;

 private:
  [[nodiscard]] std::int64_t at_least(double least, double repetition_s) const;

  Pace pace_;
  double told_s_;
};

/// What a point may cost, lest its arm be bounded, in seconds. `costs`: what each point left, one
/// arm at one size, would cost at least. The dearest are given up until the others need no more
/// than half the time left. Points that cost at most `never_bounded_s` are not given up.
double dearest_point_s(double time_left_s, std::vector<double> costs, double never_bounded_s);

}  // namespace roundtrip
