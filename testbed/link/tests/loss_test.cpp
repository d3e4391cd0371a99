#include "loss.hpp"

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

}  // namespace
}  // namespace rtlink
