#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace roundtrip::ddtbench {

/// Test data: 4-byte word `i` of the message numbered `seed`. All words of a message differ, to
/// detect misplaced words, and messages of different seeds differ in every word.
constexpr std::uint32_t pattern_word(std::size_t i, unsigned seed) {
  return static_cast<std::uint32_t>(i) * 2'654'435'769U + seed * 2'246'822'507U;
}

/// Expected data of a region: blocks of equal size, one per sender, in rank order.
struct Expected {
  std::size_t block_words = 0;  ///< 4-byte words in a block
  std::size_t first_word = 0;   ///< index of the block's first word in each sender's message
  unsigned first_seed = 0;      ///< of the first sender; increases by 1 per sender
};

/// Runs of memory in the order of a message. Each app describes the layout of its data three times:
/// by regions, datatypes and pack loops. The three are checked against each other.
class Region {
 public:
  /// Appends `bytes` (a multiple of 4) at `start`; extends the previous run if it ends there.
  void add(void* start, std::size_t bytes);

  [[nodiscard]] std::size_t bytes() const { return words_ * sizeof(std::uint32_t); }
  [[nodiscard]] std::size_t words() const { return words_; }

  /// Writes the message numbered `seed`.
  void fill(unsigned seed) const;

  /// Writes data that is wrong in every word, to detect words that are not received.
  void poison(const Expected& expected) const;

  /// Index of the first word that differs from `expected`.
  [[nodiscard]] std::optional<std::size_t> first_mismatch(const Expected& expected) const;

  /// Overwrites every word with its own value.
  void rewrite() const;

  /// Reads every word.
  void read() const;

 private:
  struct Run {
    std::uint32_t* start;
    std::size_t words;
  };
  std::vector<Run> runs_;
  std::size_t words_ = 0;
};

}  // namespace roundtrip::ddtbench
