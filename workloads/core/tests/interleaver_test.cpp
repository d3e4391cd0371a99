#include "core/interleaver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace roundtrip {
namespace {

std::vector<std::vector<int>> orders(std::uint64_t seed, int rounds, int arms) {
  Interleaver interleaver(seed);
  std::vector<std::vector<int>> all;
  for (int round = 0; round < rounds; ++round) {
    auto& order = all.emplace_back(static_cast<std::size_t>(arms));
    std::iota(order.begin(), order.end(), 0);
    interleaver.shuffle(order);
  }
  return all;
}

TEST(Interleaver, EveryOrderIsAPermutation) {
  for (auto order : orders(1, 200, 5)) {
    std::ranges::sort(order);
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
  }
}

TEST(Interleaver, TheSeedDecides) {
  EXPECT_EQ(orders(7, 50, 5), orders(7, 50, 5));
  EXPECT_NE(orders(7, 50, 5), orders(8, 50, 5));
}

TEST(Interleaver, AllOrdersAreAboutEquallyFrequent) {
  constexpr int rounds = 6000;
  std::map<std::vector<int>, int> count;
  for (const auto& order : orders(3, rounds, 3)) ++count[order];
  ASSERT_EQ(count.size(), 6U);
  // Binomial with p = 1/6: the standard deviation is 29; the seed is fixed.
  for (const auto& [order, times] : count) EXPECT_NEAR(times, rounds / 6.0, 120);
}

TEST(Interleaver, FewArms) {
  EXPECT_EQ(orders(1, 1, 1), (std::vector<std::vector<int>>{{0}}));
  EXPECT_EQ(orders(1, 1, 0), (std::vector<std::vector<int>>{{}}));
}

}  // namespace
}  // namespace roundtrip
