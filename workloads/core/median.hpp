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

/// Exact confidence interval of the median of `n` samples, whatever their distribution: the
/// narrowest symmetric ranks between which it lies with at least the probability `confidence`
/// (binomial with p = 1/2; Hoefler and Belli, SC'15, 3.1.3). Nothing if n is too small: below 6
/// for 95 %.
std::optional<RankInterval> median_ranks(std::size_t n, double confidence = 0.95);

/// A median and how well it is known.
struct Estimate {
  double median = 0;
  /// The farther bound's distance from the median, over the median; nothing without an interval.
  std::optional<double> relative_half_width;
};

/// Median and exact 95 % interval of at least one sample, none negative.
Estimate estimate_median(std::span<const double> samples);

/// When to stop repeating a measurement: when both bounds of the median's interval are near enough.
class StoppingRule {
 public:
  /// `precision`: the relative half-width to reach, e.g. 0.02.
  explicit StoppingRule(double precision) : precision_(precision) {}

  [[nodiscard]] bool reached(const Estimate& estimate) const {
    return estimate.relative_half_width && *estimate.relative_half_width <= precision_;
  }

  /// The number of samples at which to look next after `n`. Steps grow with n, so that looking
  /// stays cheap, and so that few looks give chance few opportunities.
  static std::size_t next_look(std::size_t n);

 private:
  double precision_;
};

}  // namespace roundtrip
