#include "npb/common/ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb {
namespace {

/// Legal numbers of ranks of a benchmark's class, up to 30.
std::vector<int> legal(const std::string& name, char problem_class) {
  const auto entries = all_benchmarks();
  const RankRule rule = std::ranges::find(entries, name, &Entry::name)->ranks(problem_class);
  std::vector<int> counts;
  for (int ranks = 0; ranks <= 30; ++ranks) {
    if (rule.legal(ranks)) counts.push_back(ranks);
  }
  return counts;
}

/// Class S has 12 points in each direction; a cell of the multipartition has at least three.
TEST(Ranks, OfBtAndSpAreSquaresThatLeaveEachCellItsPoints) {
  EXPECT_EQ(legal("BT", 'S'), (std::vector{1, 4, 9, 16}));
  EXPECT_EQ(legal("SP", 'S'), (std::vector{1, 4, 9, 16}));
  EXPECT_EQ(legal("SP", 'W'), (std::vector{1, 4, 9, 16, 25}));
}

TEST(Ranks, AreListedUpToTheFirstBeyondTheLimit) {
  EXPECT_EQ(legal_counts(perfect_square(4), 4), "1, 4, 9");
}

}  // namespace
}  // namespace roundtrip::npb
