#include "forwarder.hpp"

#include <gtest/gtest.h>

#include <array>

namespace rtlink {
namespace {

using Header = std::array<std::byte, 12>;

Header header(unsigned char destination, unsigned char source, unsigned char first = 2) {
  Header bytes{};
  bytes[0] = std::byte{first};
  bytes[5] = std::byte{destination};
  bytes[6] = std::byte{2};
  bytes[11] = std::byte{source};
  return bytes;
}

TEST(Forwarder, AnUnknownAddressMeansAllPorts) {
  const Forwarder forwarder;
  EXPECT_FALSE(forwarder.destination(header(1, 2)).has_value());
}

TEST(Forwarder, LearnsFromTheSource) {
  Forwarder forwarder;
  forwarder.learn(header(9, 1), 3);
  EXPECT_EQ(forwarder.destination(header(1, 9)), 3U);
  forwarder.learn(header(9, 1), 4);
  EXPECT_EQ(forwarder.destination(header(1, 9)), 4U);
}

TEST(Forwarder, AGroupMeansAllPorts) {
  Forwarder forwarder;
  forwarder.learn(header(9, 1), 3);
  EXPECT_FALSE(forwarder.destination(header(1, 9, 3)).has_value());
}

}  // namespace
}  // namespace rtlink
