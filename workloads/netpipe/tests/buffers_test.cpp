#include "netpipe/buffers.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace roundtrip::netpipe {
namespace {

constexpr std::size_t boundary = 16384;

std::uintptr_t distance_from_boundary(const char* place) {
  return reinterpret_cast<std::uintptr_t>(place) % boundary;
}

/// Copies one message between the current slots, as a transport does, and steps to the next.
void deliver(Buffers& from, Buffers& to) {
  std::copy_n(from.walk().out(), from.size(), to.walk().in());
  from.walk().step();
  to.walk().step();
}

TEST(Buffers, SameIsOneAlignedPlaceWithOffsets) {
  Buffers buffers(Layout::same, Mode::pingpong, {.send = 3, .receive = 3}, 1000, true);
  buffers.prepare(1000);
  EXPECT_EQ(buffers.fixed().out(), buffers.fixed().in());
  EXPECT_EQ(distance_from_boundary(buffers.fixed().out()), 3U);
}

TEST(Buffers, WhatTravelsBothWaysAtOnceIsApart) {
  Buffers buffers(Layout::same, Mode::bidirectional, {}, 1000, true);
  EXPECT_NE(buffers.fixed().out(), buffers.fixed().in());
}

TEST(Buffers, NoCacheStepsThroughThePoolAndWraps) {
  Buffers buffers(Layout::no_cache, Mode::pingpong, {}, 20'000, true);
  buffers.prepare(20'000);
  Walk walk = buffers.walk();
  const char* first = walk.out();
  walk.step();
  EXPECT_EQ(walk.out() - first, 2 * static_cast<std::ptrdiff_t>(boundary));
  EXPECT_EQ(walk.slots, 10'000'000 / (2 * boundary));
  for (std::size_t i = 1; i < walk.slots; ++i) walk.step();
  EXPECT_EQ(walk.out(), first);
}

TEST(Buffers, NoPageIsMissingBeforeTheFirstMessage) {
  constexpr std::size_t largest = 64 << 20;
  Buffers buffers(Layout::same, Mode::pingpong, {}, largest, true);
  buffers.prepare(1);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident(largest / page);
  ASSERT_EQ(mincore(const_cast<char*>(buffers.fixed().out()), largest, resident.data()), 0);
  EXPECT_EQ(std::ranges::count_if(resident, [](unsigned char state) { return (state & 1) == 0; }),
            0);
}

class Delivery : public testing::TestWithParam<std::pair<Layout, Mode>> {};

TEST_P(Delivery, IsRightOnlyIfAllArrived) {
  const auto [layout, mode] = GetParam();
  Buffers transmitter(layout, mode, {}, 5000, true);
  Buffers receiver(layout, mode, {}, 5000, false);
  transmitter.prepare(4097);
  receiver.prepare(4097);
  receiver.poison_incoming();
  EXPECT_EQ(receiver.check_incoming().value().element, 0U);
  deliver(transmitter, receiver);
  EXPECT_FALSE(receiver.check_last(1));

  receiver.walk().slot = 0;
  receiver.walk().in()[4096] ^= 1;
  receiver.walk().step();
  const auto mismatch = receiver.check_last(1);
  ASSERT_TRUE(mismatch);
  EXPECT_EQ(mismatch->element, 4096U);
  EXPECT_EQ(mismatch->got ^ mismatch->expected, 1);
}

INSTANTIATE_TEST_SUITE_P(All, Delivery,
                         testing::Values(std::pair{Layout::same, Mode::pingpong},
                                         std::pair{Layout::same, Mode::stream},
                                         std::pair{Layout::same, Mode::bidirectional},
                                         std::pair{Layout::no_cache, Mode::pingpong},
                                         std::pair{Layout::no_cache, Mode::bidirectional}));

TEST(Buffers, ChecksEveryMessageOfABatch) {
  Buffers transmitter(Layout::no_cache, Mode::stream, {}, 100, true);
  Buffers receiver(Layout::no_cache, Mode::stream, {}, 100, false);
  transmitter.prepare(100);
  receiver.prepare(100);
  deliver(transmitter, receiver);
  deliver(transmitter, receiver);
  EXPECT_FALSE(receiver.check_last(2));
  receiver.walk().receive[50] ^= 1;  // in the first of the two
  EXPECT_FALSE(receiver.check_last(1));
  EXPECT_TRUE(receiver.check_last(2));
}

}  // namespace
}  // namespace roundtrip::netpipe
