#include "core/pattern.hpp"

#include <algorithm>

namespace roundtrip {

void fill_pattern(std::span<char> data, unsigned seed) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = pattern_byte(i, seed);
}

void fill_poison(std::span<char> data, unsigned seed) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<char>(~pattern_byte(i, seed));
  }
}

std::optional<std::size_t> first_mismatch(std::span<const char> data, unsigned seed) {
  // No branch per byte within a block, so that the compiler can vectorize.
  constexpr std::size_t block = 4096;
  for (std::size_t start = 0; start < data.size(); start += block) {
    const std::size_t end = std::min(start + block, data.size());
    unsigned difference = 0;
    for (std::size_t i = start; i < end; ++i) {
      difference |= static_cast<std::uint8_t>(data[i] ^ pattern_byte(i, seed));
    }
    if (difference == 0) continue;
    for (std::size_t i = start; i < end; ++i) {
      if (data[i] != pattern_byte(i, seed)) return i;
    }
  }
  return std::nullopt;
}

}  // namespace roundtrip
