#pragma once

#include <array>
#include <cstdint>

namespace roundtrip::npb::is {

inline constexpr int rankings = 10;
inline constexpr std::size_t tests = 5;

/// Parameters of a class: sizes, and five test keys with published ranks.
struct Parameters {
  int log2_keys;
  int log2_max_key;
  int log2_buckets;
  std::array<std::int64_t, tests> index;  ///< of each test key, from 0
  std::array<std::int64_t, tests> rank;   ///< published, without the iteration's offset
};

const Parameters& parameters(char problem_class);

/// The published rank of test key `test` in iteration 1..10.
std::int64_t published_rank(char problem_class, std::size_t test, int iteration);

}  // namespace roundtrip::npb::is
