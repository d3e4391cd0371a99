#include "core/survey_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace roundtrip {
namespace {

TEST(Spread, TakesTheEndsThenTheMiddlesOfTheWidestGaps) {
  EXPECT_EQ(spread(0), (std::vector<std::size_t>{}));
  EXPECT_EQ(spread(1), (std::vector<std::size_t>{0}));
  EXPECT_EQ(spread(2), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(spread(9), (std::vector<std::size_t>{0, 8, 4, 2, 6, 1, 3, 5, 7}));
}

TEST(Spread, TakesEachOnce) {
  for (std::size_t count = 1; count < 130; ++count) {
    auto order = spread(count);
    std::ranges::sort(order);
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
  }
}

TEST(SurveyOrder, TheGridIsSparseAndSpansTheRange) {
  const std::vector<std::int64_t> sizes = {1000, 1500, 2000, 4000, 16'000, 60'000, 64'000, 192'000};
  const SurveyOrder order = survey_order(sizes);
  EXPECT_EQ(order.coarse, (std::vector<std::size_t>{0, 7, 4, 3, 6}));
  EXPECT_EQ(order.fine, (std::vector<std::size_t>{1, 5, 2}));
}

TEST(SurveyOrder, TheGridHasOnlyWhatMayBeCoarse) {
  const auto not_60000 = [](std::size_t i) { return i != 3; };
  const SurveyOrder order = survey_order({1000, 4000, 16'000, 60'000, 64'000}, not_60000);
  EXPECT_EQ(order.coarse, (std::vector<std::size_t>{0, 4, 1, 2}));
  EXPECT_EQ(order.fine, (std::vector<std::size_t>{3}));
}

TEST(SurveyOrder, OneSizeIsTheGrid) {
  EXPECT_EQ(survey_order({0}).coarse, (std::vector<std::size_t>{0}));
}

}  // namespace
}  // namespace roundtrip
