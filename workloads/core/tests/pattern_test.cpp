#include "core/pattern.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace roundtrip {
namespace {

TEST(Pattern, FindsEverySingleWrongByte) {
  std::vector<char> data(9001);
  fill_pattern(data, 5);
  EXPECT_FALSE(first_mismatch(data, 5));
  for (const std::size_t i : {0U, 1U, 4095U, 4096U, 9000U}) {
    data[i] = static_cast<char>(data[i] ^ 1);
    EXPECT_EQ(first_mismatch(data, 5), i);
    data[i] = static_cast<char>(data[i] ^ 1);
  }
}

TEST(Pattern, OtherSeedsAndPoisonAreWrongFromTheFirstByte) {
  std::vector<char> data(1000);
  fill_pattern(data, 6);
  EXPECT_EQ(first_mismatch(data, 5), 0U);
  fill_poison(data, 5);
  for (std::size_t i = 0; i < data.size(); ++i) EXPECT_NE(data[i], pattern_byte(i, 5)) << i;
}

TEST(Pattern, ShiftedDataIsWrong) {
  std::vector<char> data(100'000);
  fill_pattern(data, 0);
  for (const std::size_t shift : {1U, 255U, 256U, 4096U, 16'384U}) {
    EXPECT_TRUE(first_mismatch(std::span(data).subspan(shift), 0)) << shift;
  }
}

}  // namespace
}  // namespace roundtrip
