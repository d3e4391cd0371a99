#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace roundtrip::ring {

/// Bytes per renewed word: the cache line size of most processors.
inline constexpr std::size_t renewed_piece = 64;

/// Words of a token's body that `read_and_renew` renews.
constexpr std::size_t renewals(std::size_t bytes) {
  const std::size_t rest = bytes % renewed_piece;
  return bytes / renewed_piece + (rest >= sizeof(std::uint64_t) ? 1 : 0);
}

/// Reads every byte; returns the sum of all words and of the bytes after the last whole word. With
/// `renew`, increments the first word of each piece after reading it: this write invalidates the
/// cache line in the next rank's caches.
template <bool renew>
std::uint64_t read_all(std::span<char> body) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  std::uint64_t sum = 0;
  const auto read = [&](std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, &body[at], word_bytes);
    sum += word;
    return word;
  };
  const auto renewed = [&](std::size_t at, std::uint64_t word) {
    if constexpr (renew) {
      ++word;
      std::memcpy(&body[at], &word, word_bytes);
    }
  };
  std::size_t at = 0;
  for (; at + renewed_piece <= body.size(); at += renewed_piece) {
    const std::uint64_t first = read(at);
    for (std::size_t word = word_bytes; word < renewed_piece; word += word_bytes) read(at + word);
    renewed(at, first);
  }
  for (bool is_first = true; at + word_bytes <= body.size(); at += word_bytes, is_first = false) {
    const std::uint64_t word = read(at);
    if (is_first) renewed(at, word);
  }
  for (; at < body.size(); ++at) sum += static_cast<unsigned char>(body[at]);
  return sum;
}

inline std::uint64_t sum_of(std::span<char> body) {
  return read_all<false>(body);
}

inline std::uint64_t read_and_renew(std::span<char> body) {
  return read_all<true>(body);
}

}  // namespace roundtrip::ring
