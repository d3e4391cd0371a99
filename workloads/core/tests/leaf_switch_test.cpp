#include "core/leaf_switch.hpp"

#include <gtest/gtest.h>

namespace roundtrip {
namespace {

TEST(LeafSwitch, IsTheOneNextToTheNode) {
  EXPECT_EQ(leaf_switch("core1.leaf3.cn07", "switch.switch.node"), "leaf3");
  EXPECT_EQ(leaf_switch("leaf3.cn07", "switch.node"), "leaf3");
}

TEST(LeafSwitch, IsUnknownWhereSlurmKnowsNoTree) {
  EXPECT_EQ(leaf_switch("cn07", "node"), "");
  EXPECT_EQ(leaf_switch("block2.cn07", "block.node"), "");
  EXPECT_EQ(leaf_switch("", "switch.node"), "");
}

}  // namespace
}  // namespace roundtrip
