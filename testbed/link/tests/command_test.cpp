#include "command.hpp"

#include <gtest/gtest.h>

namespace rtlink {
namespace {

Command good(std::string_view text, const Settings& present = {}) {
  return std::get<Command>(parse_command(text, present));
}

TEST(Command, SetsWhatItNamesAndKeepsTheRest) {
  const Command command = good("delay_us=500.5 rate_bps=1e9 down", {.loss = 0.25});
  EXPECT_EQ(command.settings.delay, 500'500);
  EXPECT_EQ(command.settings.rate, 1e9);
  EXPECT_EQ(command.settings.loss, 0.25);
  EXPECT_FALSE(command.settings.up);
  EXPECT_FALSE(command.reset);
}

TEST(Command, KnowsEveryWord) {
  const Command command = good("queue_bytes=1048576 loss=0.001 seed=42 up cut_us=5e6 reset stats");
  EXPECT_EQ(command.settings.queue_bytes, 1048576);
  EXPECT_EQ(command.settings.loss, 0.001);
  EXPECT_EQ(command.settings.seed, 42U);
  EXPECT_TRUE(command.settings.up);
  EXPECT_EQ(command.cut, 5 * kSecond);
  EXPECT_TRUE(command.reset);
}

TEST(Command, CountsAsAChangeOnlyIfItAltersSomething) {
  const Settings present{.delay = kMicrosecond};
  EXPECT_FALSE(good("stats", present).changes(present));
  EXPECT_FALSE(good("delay_us=1 up", present).changes(present));
  EXPECT_TRUE(good("delay_us=2", present).changes(present));
  EXPECT_TRUE(good("down", present).changes(present));
  EXPECT_TRUE(good("cut_us=1", present).changes(present));
  EXPECT_TRUE(good("reset", present).changes(present));
}

TEST(Command, OnlyUpEndsACutBeforeItsTime) {
  constexpr Nanoseconds kEnd = 10 * kSecond;
  EXPECT_EQ(good("up").cut_until(kEnd, kSecond), 0);
  EXPECT_EQ(good("up cut_us=1e6").cut_until(kEnd, kSecond), 2 * kSecond);
  for (const char* text : {"stats", "reset", "delay_us=1", "down"}) {
    EXPECT_EQ(good(text).cut_until(kEnd, kSecond), kEnd) << text;
    EXPECT_EQ(good(text).cut_until(kEnd, kEnd), 0) << text;
  }
}

class BadCommand : public testing::TestWithParam<const char*> {};

TEST_P(BadCommand, ChangesNothing) {
  const std::string text = std::string("delay_us=1 ") + GetParam();
  const auto parsed = parse_command(text, {});
  ASSERT_TRUE(std::holds_alternative<std::string>(parsed));
  EXPECT_EQ(std::get<std::string>(parsed), std::string("bad word: ") + GetParam());
}

INSTANTIATE_TEST_SUITE_P(Words, BadCommand,
                         testing::Values("delay_us=-1", "delay_us=", "delay_us=1ms", "loss=1.1",
                                         "loss=nan", "rate_bps=inf", "queue_bytes=0", "seed=-1",
                                         "cut_us=0", "speed=3", "left", "=", "delay_us=2e6"));

}  // namespace
}  // namespace rtlink
