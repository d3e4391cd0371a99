#include "core/median.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace roundtrip {
namespace {

TEST(MedianRanks, FewerThanSixSamplesHaveNoInterval) {
  for (std::size_t n = 0; n < 6; ++n) EXPECT_FALSE(median_ranks(n)) << n;
  EXPECT_TRUE(median_ranks(6));
}

/// Ranks from 1 as in the tables of the sign test (95 %, two-sided).
TEST(MedianRanks, AgreeWithTheTables) {
  const std::vector<std::pair<std::size_t, std::size_t>> lower_rank = {
      {6, 1},  {8, 1},  {9, 2},   {10, 2},  {12, 3},  {15, 4},
      {17, 5}, {20, 6}, {30, 10}, {50, 18}, {100, 40}};
  for (const auto& [n, rank] : lower_rank) {
    const auto ranks = median_ranks(n);
    ASSERT_TRUE(ranks) << n;
    EXPECT_EQ(ranks->lower + 1, rank) << n;
    EXPECT_EQ(ranks->upper + 1, n + 1 - rank) << n;
  }
}

/// 2^-n underflows at this n; the reference is the normal approximation.
TEST(MedianRanks, ManySamples) {
  constexpr std::size_t n = 100'000;
  const auto ranks = median_ranks(n);
  ASSERT_TRUE(ranks);
  EXPECT_NEAR(static_cast<double>(ranks->lower), n / 2.0 - 1.959964 * std::sqrt(n) / 2, 2);
}

TEST(EstimateMedian, TakesTheFartherBound) {
  const std::vector<double> samples = {10, 16, 9, 11, 10, 10};
  const Estimate estimate = estimate_median(samples);
  EXPECT_DOUBLE_EQ(estimate.median, 10);
  EXPECT_DOUBLE_EQ(estimate.relative_half_width.value(), 0.6);
}

TEST(EstimateMedian, EqualSamplesAreAsPreciseAsCanBeEvenIfTheyTakeNoTime) {
  for (const double seconds : {1e-6, 0.0}) {
    const Estimate estimate = estimate_median(std::vector<double>(6, seconds));
    EXPECT_EQ(estimate.median, seconds);
    EXPECT_EQ(estimate.relative_half_width, 0.0);
    EXPECT_TRUE(StoppingRule(0.02).reached(estimate));
  }
}

TEST(EstimateMedian, OfFewSamplesHasNoWidth) {
  const std::vector<double> samples = {3, 1};
  EXPECT_DOUBLE_EQ(estimate_median(samples).median, 2);
  EXPECT_FALSE(estimate_median(samples).relative_half_width);
}

TEST(StoppingRule, NeedsAnIntervalWithinThePrecision) {
  const StoppingRule rule(0.02);
  EXPECT_FALSE(rule.reached({.median = 1, .relative_half_width = {}}));
  EXPECT_TRUE(rule.reached({.median = 1, .relative_half_width = 0.02}));
  EXPECT_FALSE(rule.reached({.median = 1, .relative_half_width = 0.021}));
}

TEST(StoppingRule, LooksFirstAtSixThenEverMoreRarely) {
  EXPECT_EQ(StoppingRule::next_look(0), 6U);
  EXPECT_EQ(StoppingRule::next_look(6), 7U);
  EXPECT_EQ(StoppingRule::next_look(800), 901U);
}

}  // namespace
}  // namespace roundtrip
