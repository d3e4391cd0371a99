#include "core/median.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace roundtrip {
namespace {

/// Probability of exactly k heads in n throws.
double binomial_half(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t m) { return std::lgamma(static_cast<double>(m) + 1); };
  return std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) -
                  static_cast<double>(n) * std::numbers::ln2);
}

}  // namespace

std::optional<RankInterval> median_ranks(std::size_t n, double confidence) {
  const double tail = (1 - confidence) / 2;
  // Terms more than 6 sqrt(n) below n/2, twelve standard deviations, add nothing.
  const double centre = static_cast<double>(n) / 2;
  const auto first =
      static_cast<std::size_t>(std::max(0.0, centre - 6 * std::sqrt(static_cast<double>(n))));
  std::optional<RankInterval> interval;
  double cumulated = 0;
  for (std::size_t k = first; 2 * k + 1 < n; ++k) {
    cumulated += binomial_half(n, k);
    if (cumulated > tail) break;
    interval = RankInterval{.lower = k, .upper = n - 1 - k};
  }
  return interval;
}

Estimate estimate_median(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  Estimate estimate;
  estimate.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  if (const auto ranks = median_ranks(n)) {
    const double farther =
        std::max(estimate.median - sorted[ranks->lower], sorted[ranks->upper] - estimate.median);
    // The width of equal samples is 0, also if a simulated arm takes no time (0 / 0).
    estimate.relative_half_width = farther == 0 ? 0 : farther / estimate.median;
  }
  return estimate;
}

std::size_t StoppingRule::next_look(std::size_t n) {
  constexpr std::size_t first = 6;
  return std::max(first, n + 1 + n / 8);
}

}  // namespace roundtrip
