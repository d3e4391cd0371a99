#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace roundtrip::ddtbench {

/// Test data: 4-byte word `i` of the message numbered `seed`. Words of one message all differ, so a
/// word at a wrong place shows, and messages of different seeds differ in every word.
constexpr std::uint32_t pattern_word(std::size_t i, unsigned seed) {
  return static_cast<std::uint32_t>(i) * 2'654'435'769U + seed * 2'246'822'507U;
}

/// What a region should have received: blocks of equal size, one per sender, in rank order.
struct Expected {
  std::size_t block_words = 0;  ///< 4-byte words in a block
  std::size_t first_word = 0;   ///< where in each sender's message the block begins
  unsigned first_seed = 0;      ///< of the first sender; the next ones count up
};

/// Places in memory in the order of a message. Each app states where its data lie three times: in
/// its regions, its datatypes and its pack loops. The three are checked against each other.
class Region {
 public:
  /// Appends `bytes` (a multiple of 4) at `start`; extends the previous run if they directly follow
  /// it.
  void add(void* start, std::size_t bytes);

  [[nodiscard]] std::size_t bytes() const { return words_ * sizeof(std::uint32_t); }
  [[nodiscard]] std::size_t words() const { return words_; }

  /// Writes the message numbered `seed`.
  void fill(unsigned seed) const;

  /// Writes data that is wrong in every word, so that a word that was not received shows.
  void poison(const Expected& expected) const;

  /// Index of the first word that is not what was expected.
  [[nodiscard]] std::optional<std::size_t> first_mismatch(const Expected& expected) const;

  /// Writes to every word the value that it already has.
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
