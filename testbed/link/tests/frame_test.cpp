#include "frame.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

namespace rtlink {
namespace {

std::vector<std::byte> packet(std::size_t frame, VnetHeader header = {}) {
  std::vector<std::byte> bytes(sizeof header + frame);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

TEST(WireSize, CountsPreambleChecksumAndGap) {
  EXPECT_EQ(wire_bits(packet(98)), 8 * (98 + 24));
}

TEST(WireSize, PadsShortFrames) {
  EXPECT_EQ(wire_bits(packet(42)), 8 * (60 + 24));
}

TEST(WireSize, ASuperFrameIsTheSegmentsItStandsFor) {
  const VnetHeader header{.flags = 0,
                          .gso_type = 1,
                          .hdr_len = 66,
                          .gso_size = 1448,
                          .csum_start = 0,
                          .csum_offset = 0};
  // ten full segments and one of a single byte, each with its headers
  EXPECT_EQ(wire_bits(packet(66 + 14481, header)), 8 * (14481 + 11 * (66 + 24)));
}

TEST(WireSize, ABrokenHeaderIsCountedAsOneFrame) {
  const VnetHeader header{.flags = 0,
                          .gso_type = 1,
                          .hdr_len = 200,
                          .gso_size = 1448,
                          .csum_start = 0,
                          .csum_offset = 0};
  EXPECT_EQ(wire_bits(packet(100, header)), 8 * (100 + 24));
}

TEST(FramePool, GivesABufferOutOnceUntilItComesBack) {
  FramePool pool;
  auto one = pool.take();
  auto other = pool.take();
  const std::set<Buffer*> known = {one.get(), other.get()};
  pool.give_back(std::move(one));
  pool.give_back(std::move(other));
  one = pool.take();
  other = pool.take();
  EXPECT_EQ((std::set<Buffer*>{one.get(), other.get()}), known);
  EXPECT_FALSE(known.contains(pool.take().get()));
}

TEST(FramePool, TakesNothingBackFromAFrameWithoutABuffer) {
  FramePool pool;
  pool.give_back(nullptr);
  EXPECT_NE(pool.take(), nullptr);
}

}  // namespace
}  // namespace rtlink
