#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace roundtrip {

/// Test data: byte `i` of the message numbered `seed`. Messages of different seeds (mod 256) differ
/// in every byte, and a message shifted by up to a block does not match itself.
constexpr char pattern_byte(std::size_t i, unsigned seed) {
  return static_cast<char>(static_cast<std::uint8_t>(i * 167 + (i >> 8U) * 59 + seed));
}

/// Writes the pattern of `seed`.
void fill_pattern(std::span<char> data, unsigned seed);

/// Writes data that is wrong in every byte for `seed`, so that missing bytes are detected.
void fill_poison(std::span<char> data, unsigned seed);

/// Index of the first byte that differs from the pattern; empty if all match.
std::optional<std::size_t> first_mismatch(std::span<const char> data, unsigned seed);

}  // namespace roundtrip
