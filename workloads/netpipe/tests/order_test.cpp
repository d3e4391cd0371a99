#include "netpipe/order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace roundtrip::netpipe {
namespace {

std::vector<std::int64_t> sizes(const std::vector<std::size_t>& places,
                                const std::vector<SizePoint>& points) {
  std::vector<std::int64_t> found;
  found.reserve(places.size());
  for (const std::size_t place : places) found.push_back(points[place].size);
  return found;
}

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

TEST(SurveyOrder, TheGridSpansTheRangeAndHoldsWhatReportsCompare) {
  for (const std::int64_t perturbation : {0, 3}) {
    for (const std::int64_t end : {1'048'576, 2'097'152, 8'388'608}) {
      const auto points = size_schedule({.end = end, .perturbation = perturbation});
      const SurveyOrder order = survey_order(points);
      auto grid = sizes(order.coarse, points);
      EXPECT_EQ(grid[0], 1);
      EXPECT_EQ(grid[1], end);
      for (const std::int64_t compared : {1, 64, 1024, 16384, 65536, 1048576}) {
        EXPECT_EQ(std::ranges::count(grid, compared), 1) << compared;
      }
      EXPECT_EQ(order.coarse.size() + order.fine.size(), points.size());
      EXPECT_LT(order.coarse.size(), 15U);
    }
  }
}

TEST(SurveyOrder, TheGridIsSparseWhereverItStarts) {
  const auto points = size_schedule({.start = 1000, .end = 200'000, .perturbation = 0});
  auto grid = sizes(survey_order(points).coarse, points);
  std::ranges::sort(grid);
  EXPECT_EQ(grid, (std::vector<std::int64_t>{1000, 4000, 16'000, 64'000, 192'000}));
}

}  // namespace
}  // namespace roundtrip::netpipe
