#include "ddtbench/region.hpp"

#include <algorithm>
#include <span>

namespace roundtrip::ddtbench {
namespace {

/// Calls `visit` with the words of each run, split by sender, their index in the region, their
/// index in the sender's message, and its seed. Stops when `visit` returns true.
template <class Runs, class Visit>
void each_piece(const Runs& runs, const Expected& expected, Visit visit) {
  std::size_t at = 0;
  for (const auto& run : runs) {
    for (std::size_t done = 0; done < run.words;) {
      const std::size_t sender = at / expected.block_words;
      const std::size_t word = at % expected.block_words;
      const std::size_t words = std::min(run.words - done, expected.block_words - word);
      if (visit(std::span(run.start + done, words), at, expected.first_word + word,
                expected.first_seed + static_cast<unsigned>(sender))) {
        return;
      }
      done += words;
      at += words;
    }
  }
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
  each_piece(runs_, expected,
             [](std::span<std::uint32_t> piece, std::size_t, std::size_t word, unsigned seed) {
               for (std::size_t i = 0; i < piece.size(); ++i) {
                 piece[i] = ~pattern_word(word + i, seed);
               }
               return false;
             });
}

std::optional<std::size_t> Region::first_mismatch(const Expected& expected) const {
  std::optional<std::size_t> mismatch;
  each_piece(
      runs_, expected,
      [&](std::span<const std::uint32_t> piece, std::size_t at, std::size_t word, unsigned seed) {
        // No branch per word, so that the compiler can vectorise; the index is found afterwards.
        std::uint32_t difference = 0;
        for (std::size_t i = 0; i < piece.size(); ++i) {
          difference |= piece[i] ^ pattern_word(word + i, seed);
        }
        for (std::size_t i = 0; difference != 0 && !mismatch; ++i) {
          if (piece[i] != pattern_word(word + i, seed)) mismatch = at + i;
        }
        return mismatch.has_value();
      });
  return mismatch;
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
