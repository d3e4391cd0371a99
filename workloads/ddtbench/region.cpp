#include "ddtbench/region.hpp"

namespace roundtrip::ddtbench {
namespace {

/// Place in a sender's message of word `at` of the received region.
struct Origin {
  std::size_t word;
  unsigned seed;
};

Origin origin(const Expected& expected, std::size_t at) {
  return {.word = expected.first_word + at % expected.block_words,
          .seed = expected.first_seed + static_cast<unsigned>(at / expected.block_words)};
}

}  // namespace

void Region::add(void* start, std::size_t bytes) {
  auto* first = static_cast<std::uint32_t*>(start);
  const std::size_t words = bytes / sizeof(std::uint32_t);
  words_ += words;
  if (!runs_.empty() && runs_.back().start + runs_.back().words == first) {
    runs_.back().words += words;
  } else {
    runs_.push_back({.start = first, .words = words});
  }
}

void Region::fill(unsigned seed) const {
  std::size_t at = 0;
  for (const auto& [start, words] : runs_) {
    for (std::size_t i = 0; i < words; ++i) start[i] = pattern_word(at + i, seed);
    at += words;
  }
}

void Region::poison(const Expected& expected) const {
  std::size_t at = 0;
  for (const auto& [start, words] : runs_) {
    const auto [word, seed] = origin(expected, at);
    for (std::size_t i = 0; i < words; ++i) start[i] = ~pattern_word(word + i, seed);
    at += words;
  }
}

std::optional<std::size_t> Region::first_mismatch(const Expected& expected) const {
  std::size_t at = 0;
  for (const auto& [start, words] : runs_) {
    const auto [word, seed] = origin(expected, at);
    // Without a branch a word, so that the compiler can use vectors; then look where.
    std::uint32_t difference = 0;
    for (std::size_t i = 0; i < words; ++i) difference |= start[i] ^ pattern_word(word + i, seed);
    for (std::size_t i = 0; difference != 0 && i < words; ++i) {
      if (start[i] != pattern_word(word + i, seed)) return at + i;
    }
    at += words;
  }
  return std::nullopt;
}

void Region::rewrite() const {
  for (const auto& [start, words] : runs_) {
    volatile std::uint32_t* word = start;
    for (std::size_t i = 0; i < words; ++i) word[i] = word[i];
  }
}

void Region::read() const {
  for (const auto& [start, words] : runs_) {
    const volatile std::uint32_t* word = start;
    for (std::size_t i = 0; i < words; ++i) static_cast<void>(word[i]);
  }
}

}  // namespace roundtrip::ddtbench
