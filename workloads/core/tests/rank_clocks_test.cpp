#include "core/rank_clocks.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/testing/session.hpp"

namespace roundtrip {
namespace {

TEST(RankClocks, OfOneMachineAgree) {
  const auto start = compare_clocks(test_session());
  const auto end = compare_clocks(test_session());
  if (!test_session().root()) {
    EXPECT_TRUE(start.empty());
    return;
  }
  ASSERT_EQ(start.size(), static_cast<std::size_t>(test_session().size()));
  for (std::size_t rank = 0; rank < start.size(); ++rank) {
    // MPI_Wtime may start at MPI_Init of each rank: only its rate is the same.
    EXPECT_LT(std::abs(start[rank].utc_ahead_s), start[rank].error_s + 1e-3);
    const ClockRate rate = rate_between(start[rank], end[rank]);
    EXPECT_LE(std::abs(rate.rate - 1), rate.error + 1e-3);
  }
}

TEST(RankClocks, OfWhichOneIsFastDiffer) {
  const ClockOffset first{.at_s = 10, .ahead_s = 100, .error_s = 1e-5};
  const ClockOffset last{.at_s = 14, .ahead_s = 101.2, .error_s = 3e-5};
  EXPECT_NEAR(rate_between(first, last).rate, 1.3, 1e-9);
  EXPECT_NEAR(rate_between(first, last).error, 1e-5, 1e-12);
  EXPECT_EQ(rate_between(last, first).error, 1) << "nothing is known without time between the two";
}

}  // namespace
}  // namespace roundtrip
