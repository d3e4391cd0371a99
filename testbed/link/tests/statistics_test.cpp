#include "statistics.hpp"

#include <gtest/gtest.h>

namespace rtlink {
namespace {

TEST(Statistics, NothingSentIsNoDivisionByZero) {
  EXPECT_EQ(Statistics{}.json("A->B"),
            R"({"name":"A->B","frames":0,"bytes":0,"sent":0,"lost":0,"dropped":0,"cut":0,)"
            R"("late_over_100us":0,"late_us_mean":0.00,"late_us_max":0.00})");
}

TEST(Statistics, KeepsMeanMaximumAndTheLateOnes) {
  Statistics statistics;
  statistics.note_sent(10 * kMicrosecond);
  statistics.note_sent(200 * kMicrosecond);
  EXPECT_EQ(statistics.sent, 2U);
  EXPECT_EQ(statistics.late, 1U);
  EXPECT_NE(statistics.json("hub").find(R"("late_us_mean":105.00,"late_us_max":200.00)"),
            std::string::npos);
}

}  // namespace
}  // namespace rtlink
