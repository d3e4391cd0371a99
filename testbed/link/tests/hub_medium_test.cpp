#include "hub_medium.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "make_frame.hpp"

namespace rtlink {
namespace {

constexpr double kFrame = 12304;  // bits of a full Ethernet frame on the wire

std::vector<std::size_t> order(HubMedium& hub) {
  std::vector<std::size_t> ports;
  while (auto delivery = hub.take_due(1000 * kSecond)) ports.push_back(delivery->frame.port);
  return ports;
}

TEST(HubMedium, AFrameTakesItsTime) {
  HubMedium hub(2);
  hub.configure({.rate = 10e6}, 0);
  ASSERT_TRUE(offer(hub, make_frame(100, kFrame, 0)));
  EXPECT_EQ(hub.next_due(), 100 + 1'230'400);
  EXPECT_FALSE(hub.take_due(1'230'499).has_value());
  EXPECT_TRUE(hub.take_due(1'230'500).has_value());
}

TEST(HubMedium, BothDirectionsShareTheMedium) {
  HubMedium hub(2);
  hub.configure({.rate = 1e6}, 0);
  ASSERT_TRUE(offer(hub, make_frame(0, 1000, 0)));
  ASSERT_TRUE(offer(hub, make_frame(0, 1000, 1)));
  hub.take_due(kSecond);
  EXPECT_EQ(hub.take_due(kSecond)->due, 2'000'000);
}

TEST(HubMedium, WaitingPortsTakeTurns) {
  HubMedium hub(3);
  hub.configure({.rate = 1e6}, 0);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(offer(hub, make_frame(0, 1000, 0)));
  ASSERT_TRUE(offer(hub, make_frame(0, 1000, 1)));
  ASSERT_TRUE(offer(hub, make_frame(0, 1000, 2)));
  const auto ports = order(hub);
  EXPECT_EQ(ports, (std::vector<std::size_t>{1, 2, 0, 0, 0}));
}

TEST(HubMedium, WhoComesAfterTheMediumFellFreeDoesNotContend) {
  HubMedium hub(3);
  hub.configure({.rate = 1e6}, 0);
  ASSERT_TRUE(offer(hub, make_frame(500, 1000, 1)));
  ASSERT_TRUE(offer(hub, make_frame(0, 1000, 2)));
  // offered in another order, but port 2's frame arrived first, at an idle medium
  EXPECT_EQ(order(hub), (std::vector<std::size_t>{2, 1}));
}

TEST(HubMedium, AnIdleMediumStartsAtTheArrival) {
  HubMedium hub(2);
  hub.configure({.rate = 1e6}, 0);
  ASSERT_TRUE(offer(hub, make_frame(0, 1000, 0)));
  hub.take_due(kSecond);
  ASSERT_TRUE(offer(hub, make_frame(5'000'000, 1000, 1)));
  EXPECT_EQ(hub.next_due(), 6'000'000);
}

TEST(HubMedium, EachPortHasItsOwnQueue) {
  HubMedium hub(2);
  hub.configure({.rate = 1e6, .queue_bytes = 300}, 0);
  EXPECT_TRUE(offer(hub, make_frame(0, 1600, 0)));
  EXPECT_FALSE(offer(hub, make_frame(0, 1600, 0)));
  EXPECT_TRUE(offer(hub, make_frame(0, 1600, 1)));
  hub.take_due(kSecond);
  hub.take_due(kSecond);
  EXPECT_TRUE(offer(hub, make_frame(0, 1600, 0)));
}

}  // namespace
}  // namespace rtlink
