#include "npb/common/fastest.hpp"

#include <gtest/gtest.h>

#include <array>

namespace roundtrip::npb {
namespace {

/// A clock that only the ways advance.
class Fastest : public testing::Test {
 protected:
  [[nodiscard]] Way taking(const std::string& name, double seconds) {
    return {name, [this, seconds] { time_ += seconds; }};
  }
  [[nodiscard]] Choice choose(std::span<const Way> ways) {
    return fastest(comm_, "test", ways, [this] { return time_; });
  }

  Comm comm_{MPI_COMM_WORLD};
  double time_ = 0;
};

TEST_F(Fastest, TakesTheShortest) {
  const std::array ways{taking("slow", 2e-3), taking("fast", 1e-3), taking("slower", 3e-3)};
  const Choice choice = choose(ways);
  EXPECT_EQ(choice.chosen, 1U);
  EXPECT_EQ(choice.ways, (std::vector<std::string>{"slow", "fast", "slower"}));
  EXPECT_NEAR(choice.seconds[0], 2e-3, 1e-12);
}

TEST_F(Fastest, GoesByTheShortestTrialOfEach) {
  int trial = 0;
  const Way disturbed{"disturbed once", [&] { time_ += trial++ == 0 ? 1 : 1e-3; }};
  const std::array ways{taking("steady", 2e-3), disturbed};
  EXPECT_EQ(choose(ways).chosen, 1U);
}

TEST_F(Fastest, IsAgreedAndSparesTheSlowestRank) {
  // By its own times, rank 0 would choose the first way, which is slower on all other ranks.
  const double elsewhere = comm_.root() ? 1e-3 : 9e-3;
  const std::array ways{taking("good on rank 0", elsewhere), taking("fair on all", 2e-3)};
  EXPECT_EQ(choose(ways).chosen, comm_.size() == 1 ? 0U : 1U);
}

TEST_F(Fastest, EndsWhereTheClockStandsStill) {
  const std::array ways{taking("first", 0), taking("second", 0)};
  EXPECT_EQ(choose(ways).chosen, 0U);
}

}  // namespace
}  // namespace roundtrip::npb
