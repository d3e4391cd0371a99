#include "core/command_loop.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/testing/session.hpp"
#include "core/tests/fake_arm.hpp"

namespace roundtrip {
namespace {

TEST(CommandLoop, AVerifiedRepetitionAloneHasOneValueAlsoWhereEachIsTimed) {
  Seen verified;
  Seen timed;
  Arms arms;
  arms.push_back(std::make_unique<FakeArm>("verified", verified, 1e-6, 0));
  arms.push_back(std::make_unique<FakeArm>("timed", timed, 2e-6, 0));
  CommandLoop loop(test_session().world(), arms);
  if (!loop.leads()) {
    loop.follow();
    return;
  }
  loop.prepare({0, 1}, 8);
  const auto seconds =
      loop.round({{.arm = 0, .verify = true, .each = true}, {.arm = 1, .timed = 3, .each = true}});
  loop.stop();
  ASSERT_EQ(seconds.size(), 2U);
  EXPECT_EQ(seconds[0].size(), 1U);
  ASSERT_EQ(seconds[1].size(), 3U);
  for (const double value : seconds[1]) EXPECT_NEAR(value, 2e-6, 1e-12);
  EXPECT_EQ(verified.verified, 1);
  EXPECT_EQ(timed.timed, 3);
}

}  // namespace
}  // namespace roundtrip
