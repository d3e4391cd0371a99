#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace roundtrip {

/// Ranks (from 0) of the order statistics that bound the median.
struct RankInterval {
  std::size_t lower = 0;
  std::size_t upper = 0;
};

/// Exact, distribution-free confidence interval of the median of `n` samples: the narrowest
/// symmetric ranks with a coverage of at least `confidence` (binomial with p = 1/2; Hoefler and
/// Belli, SC'15, 3.1.3). Empty if n is too small: below 6 for 95 %.
std::optional<RankInterval> median_ranks(std::size_t n, double confidence = 0.95);

/// A median and its precision.
struct Estimate {
  double median = 0;
  /// Distance of the farther bound from the median, over the median; empty without an interval.
  std::optional<double> relative_half_width;
};

/// Median and exact 95 % interval of one or more nonnegative samples.
Estimate estimate_median(std::span<const double> samples);

/// Stops a measurement when both bounds of the median's interval are near enough to the median.
class StoppingRule {
 public:
  /// `precision`: the relative half-width to reach, e.g. 0.02.
  explicit StoppingRule(double precision) : precision_(precision) {}

  [[nodiscard]] bool reached(const Estimate& estimate) const {
    return estimate.relative_half_width && *estimate.relative_half_width <= precision_;
  }

  /// Number of samples at the first check after `n`. Steps grow with n: fewer checks cost less, and
  /// stop less often by chance.
  static std::size_t next_look(std::size_t n);

 private:
  double precision_;
};

}  // namespace roundtrip
