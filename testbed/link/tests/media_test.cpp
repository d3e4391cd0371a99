#include "media.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "make_frame.hpp"

namespace rtlink {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;

std::vector<Nanoseconds> due_times(WireMedium& wire) {
  std::vector<Nanoseconds> times;
  while (auto delivery = wire.take_due(1000 * kSecond)) times.push_back(delivery->due);
  return times;
}

TEST(WireMedium, IsEmptyAtFirst) {
  WireMedium wire;
  EXPECT_FALSE(wire.next_due().has_value());
  EXPECT_FALSE(wire.take_due(kSecond).has_value());
}

TEST(WireMedium, DelaysFromTheArrivalNotFromNow) {
  WireMedium wire;
  wire.configure({.delay = kMillisecond}, 0);
  ASSERT_TRUE(offer(wire, make_frame(500, 1000)));
  EXPECT_EQ(wire.next_due(), kMillisecond + 500);
  EXPECT_FALSE(wire.take_due(kMillisecond + 499).has_value());
  const auto delivery = wire.take_due(kMillisecond + 500);
  ASSERT_TRUE(delivery.has_value());
  EXPECT_EQ(delivery->due, kMillisecond + 500);
}

TEST(WireMedium, SerialisesThenDelays) {
  WireMedium wire;
  wire.configure({.delay = kMillisecond, .rate = 1e6}, 0);
  ASSERT_TRUE(offer(wire, make_frame(0, 1000)));
  ASSERT_TRUE(offer(wire, make_frame(0, 1000)));
  EXPECT_EQ(wire.take_due(kSecond)->due, 2 * kMillisecond);
  EXPECT_EQ(wire.take_due(kSecond)->due, 3 * kMillisecond);
}

TEST(WireMedium, RefusesWhatTheQueueCannotHold) {
  WireMedium wire;
  wire.configure({.rate = 8e6, .queue_bytes = 1500}, 0);
  EXPECT_TRUE(offer(wire, make_frame(0, 8000)));
  EXPECT_FALSE(offer(wire, make_frame(0, 8000)));
  // half of the first frame has left by then
  EXPECT_TRUE(offer(wire, make_frame(500'000, 8000)));
}

TEST(WireMedium, AnIdleWireTakesAFrameLargerThanTheQueue) {
  WireMedium wire;
  wire.configure({.rate = 8e6, .queue_bytes = 10}, 0);
  EXPECT_TRUE(offer(wire, make_frame(0, 8000)));
}

TEST(WireMedium, WhatTravelsDoesNotFillTheQueue) {
  WireMedium wire;
  wire.configure({.delay = kSecond, .rate = 8e6, .queue_bytes = 1500}, 0);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(offer(wire, make_frame(i * kMillisecond, 8000))) << i;
  }
}

TEST(WireMedium, ALowerDelayDoesNotReorder) {
  WireMedium wire;
  wire.configure({.delay = kMillisecond}, 0);
  ASSERT_TRUE(offer(wire, make_frame(0, 1000)));
  wire.configure({.delay = 0}, 0);
  ASSERT_TRUE(offer(wire, make_frame(10, 1000)));
  EXPECT_EQ(wire.take_due(kSecond)->frame.arrival, 0);
  EXPECT_EQ(wire.take_due(kSecond)->due, kMillisecond);
}

TEST(WireMedium, AFasterRateDoesNotWaitForTheBacklogOfASlowOne) {
  WireMedium wire;
  wire.configure({.rate = 1e3}, 0);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(offer(wire, make_frame(0, 1000)));
  wire.configure({.rate = 1e6}, kSecond / 2);  // half of the first frame has left
  ASSERT_TRUE(offer(wire, make_frame(kSecond, 1000)));
  const Nanoseconds half = kSecond / 2 + kMillisecond / 2;
  EXPECT_EQ(due_times(wire),
            (std::vector<Nanoseconds>{half, half + kMillisecond, half + 2 * kMillisecond,
                                      kSecond + kMillisecond}));
}

TEST(WireMedium, AnUnlimitedRateSendsTheBacklogAtOnce) {
  WireMedium wire;
  wire.configure({.delay = kMillisecond, .rate = 1}, 0);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(offer(wire, make_frame(0, 1000)));
  wire.configure({.delay = kMillisecond}, kSecond);
  ASSERT_TRUE(offer(wire, make_frame(2 * kSecond, 1000)));
  EXPECT_EQ(due_times(wire),
            (std::vector<Nanoseconds>{kSecond + kMillisecond, kSecond + kMillisecond,
                                      2 * kSecond + kMillisecond}));
}

TEST(WireMedium, ASlowerRateTakesLongerForWhatWaitsAndNotForWhatTravels) {
  WireMedium wire;
  wire.configure({.delay = kSecond, .rate = 1e6, .queue_bytes = 250}, 0);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(offer(wire, make_frame(0, 1000)));
  wire.configure({.delay = kSecond, .rate = 1e3, .queue_bytes = 250}, kMillisecond);
  EXPECT_TRUE(offer(wire, make_frame(kMillisecond, 1000)));
  EXPECT_FALSE(offer(wire, make_frame(kMillisecond, 1000)));
  EXPECT_EQ(due_times(wire),
            (std::vector<Nanoseconds>{kSecond + kMillisecond, 2 * kSecond + kMillisecond,
                                      3 * kSecond + kMillisecond}));
}

TEST(WireMedium, RefusesToUseUpTheMemory) {
  WireMedium wire;
  wire.configure({.delay = kSecond}, 0);
  int taken = 0;
  while (taken < 100'000 && offer(wire, make_frame(0, 1000))) ++taken;
  EXPECT_EQ(taken, 16384);
}

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
