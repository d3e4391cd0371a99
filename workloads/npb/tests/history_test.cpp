#include "npb/common/history.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb {
namespace {

const History recorded{{{"zeta", 1e-10}, {"residual", 9}, {"count", 0}},
                       {8.0, 3e-13, 5, 9.0, 2e-13, 0}};

TEST(History, AgreesWithinItsTolerances) {
  EXPECT_FALSE(first_deviation(recorded, recorded.values));
  const std::vector<double> near{8.0 + 7e-10, 1e-15, 5, 9.0 - 8e-10, 1.9e-12, 0};
  EXPECT_FALSE(first_deviation(recorded, near));
}

TEST(History, NamesTheFirstDeviation) {
  const std::vector<double> off{8.0, 3e-13, 5, 9.0 + 1e-9, 1e-3, 1};
  const auto found = first_deviation(recorded, off);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->iteration, 2U);
  EXPECT_EQ(found->text(),
            "deviates at iteration 2: zeta 9.000000001 instead of 9, 9e-10 apart at most");
  const std::vector<double> large{8.0, 3.1e-12, 5, 9.0, 2e-13, 0};
  ASSERT_TRUE(first_deviation(recorded, large));
  EXPECT_EQ(first_deviation(recorded, large)->quantity, "residual");
  const std::vector<double> miscounted{8.0, 3e-13, 5, 9.0, 2e-13, 1e-9};
  ASSERT_TRUE(first_deviation(recorded, miscounted));
  EXPECT_EQ(first_deviation(recorded, miscounted)->quantity, "count");
}

TEST(History, WhatIsNotANumberDeviates) {
  std::vector<double> broken = recorded.values;
  broken[0] = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(first_deviation(recorded, broken));
  EXPECT_EQ(first_deviation(recorded, broken)->iteration, 1U);
}

TEST(History, OfAnotherLengthDeviates) {
  const std::vector<double> shorter(recorded.values.begin(), recorded.values.begin() + 3);
  ASSERT_TRUE(first_deviation(recorded, shorter));
  EXPECT_EQ(first_deviation(recorded, shorter)->iteration, 2U);
  std::vector<double> longer = recorded.values;
  longer.insert(longer.end(), {9.0, 0.0, 0.0});
  ASSERT_TRUE(first_deviation(recorded, longer));
  EXPECT_EQ(first_deviation(recorded, longer)->iteration, 3U);
}

TEST(History, IsRecordedForTheSmallClassesOfEveryBenchmark) {
  for (const Entry& entry : all_benchmarks()) {
    for (const char problem_class : {'S', 'W', 'A'}) {
      ASSERT_TRUE(entry.histories.contains(problem_class)) << entry.name << problem_class;
      const History& history = entry.histories.at(problem_class);
      const int iterations = std::max(1, entry.make(problem_class)->problem().iterations);
      EXPECT_GE(history.iterations(), static_cast<std::size_t>(iterations)) << entry.name;
      EXPECT_EQ(history.values.size() % history.quantities.size(), 0U);
    }
  }
}

}  // namespace
}  // namespace roundtrip::npb
