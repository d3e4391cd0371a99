#include "medium.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace rtlink {
namespace {

std::vector<bool> draw(double probability, std::uint64_t seed, std::size_t count) {
  Loss loss;
  loss.configure(probability, seed);
  std::vector<bool> drawn(count);
  std::generate(drawn.begin(), drawn.end(), [&loss] { return loss.next(); });
  return drawn;
}

TEST(Loss, NothingAndEverything) {
  EXPECT_EQ(draw(0, 1, 1000), std::vector<bool>(1000, false));
  EXPECT_EQ(draw(1, 1, 1000), std::vector<bool>(1000, true));
}

TEST(Loss, TheSameSeedLosesTheSameFrames) {
  EXPECT_EQ(draw(0.5, 7, 1000), draw(0.5, 7, 1000));
  EXPECT_NE(draw(0.5, 7, 1000), draw(0.5, 8, 1000));
}

TEST(Loss, LosesTheShareAskedFor) {
  const auto drawn = draw(0.1, 1, 100'000);
  const auto lost = std::count(drawn.begin(), drawn.end(), true);
  EXPECT_NEAR(static_cast<double>(lost), 10'000, 500);  // five standard deviations
}

TEST(SerialClock, TakesNoTimeWithoutARate) {
  SerialClock clock;
  EXPECT_EQ(clock.occupy(100, 12000), 100);
  EXPECT_EQ(clock.occupy(100, 12000), 100);
  EXPECT_EQ(clock.backlog_bytes(50), 0);
}

TEST(SerialClock, FramesFollowEachOther) {
  SerialClock clock;
  clock.set_rate(1e6);  // 1 us per bit
  EXPECT_EQ(clock.occupy(0, 1000), 1'000'000);
  EXPECT_EQ(clock.occupy(10, 1000), 2'000'000);
}

TEST(SerialClock, AnIdleWireStartsAtOnce) {
  SerialClock clock;
  clock.set_rate(1e6);
  clock.occupy(0, 1000);
  EXPECT_EQ(clock.occupy(5'000'000, 1000), 6'000'000);
}

TEST(SerialClock, BacklogIsWhatIsStillToBeSent) {
  SerialClock clock;
  clock.set_rate(8e6);  // 1 us per byte
  clock.occupy(0, 8000);
  EXPECT_DOUBLE_EQ(clock.backlog_bytes(0), 1000);
  EXPECT_DOUBLE_EQ(clock.backlog_bytes(400'000), 600);
  EXPECT_DOUBLE_EQ(clock.backlog_bytes(2'000'000), 0);
}

TEST(SerialClock, TheBacklogOfASlowWireDoesNotHoldUpAnUnlimitedOne) {
  SerialClock clock;
  clock.set_rate(1);
  clock.occupy(0, 1000);
  clock.set_rate(0);
  EXPECT_EQ(clock.occupy(7, 1000), 7);
}

}  // namespace
}  // namespace rtlink
