#include "options.hpp"

#include <gtest/gtest.h>

namespace rtlink {
namespace {

using Words = std::vector<const char*>;

TEST(Options, AWire) {
  const auto options = std::get<Options>(
      parse_options(Words{"wire", "wA", "wB", "--fifo", "50", "--control", "link.sock"}));
  EXPECT_FALSE(options.hub);
  EXPECT_EQ(options.ports, (std::vector<std::string>{"wA", "wB"}));
  EXPECT_EQ(options.fifo, 50);
  EXPECT_EQ(options.spin, 60 * kMicrosecond);
  EXPECT_EQ(options.control, "link.sock");
}

TEST(Options, AHubHasAnyNumberOfPorts) {
  const auto options =
      std::get<Options>(parse_options(Words{"hub", "a", "b", "c", "--spin-us", "0"}));
  EXPECT_TRUE(options.hub);
  EXPECT_EQ(options.ports.size(), 3U);
  EXPECT_EQ(options.spin, 0);
}

class BadOptions : public testing::TestWithParam<Words> {};

TEST_P(BadOptions, AreRefused) {
  EXPECT_TRUE(std::holds_alternative<std::string>(parse_options(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Lines, BadOptions,
                         testing::Values(Words{}, Words{"ring", "a", "b"}, Words{"wire", "a"},
                                         Words{"wire", "a", "b", "c"}, Words{"hub", "a"},
                                         Words{"wire", "a", "b", "--fifo"},
                                         Words{"wire", "a", "b", "--fifo", "100"},
                                         Words{"wire", "a", "b", "--spin-us", "x"},
                                         Words{"wire", "a", "b", "--control", ""},
                                         Words{"wire", "a", "b", "--speed", "1"}));

}  // namespace
}  // namespace rtlink
