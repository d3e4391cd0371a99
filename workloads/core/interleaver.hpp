#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace roundtrip {

/// Random orders of the arms of a comparison, one per round. The same seed gives the same orders on
/// every machine (with std::shuffle it does not).
class Interleaver {
 public:
  explicit Interleaver(std::uint64_t seed) : random_(seed) {}

  /// Puts `arms` in random order, each of the orders equally likely.
  template <class Arm>
  void shuffle(std::vector<Arm>& arms) {
    for (std::size_t i = arms.size(); i > 1; --i) std::swap(arms[i - 1], arms[below(i)]);
  }

 private:
  /// Uniform in [0, bound), bound > 0.
  std::size_t below(std::size_t bound);

  std::mt19937_64 random_;
};

}  // namespace roundtrip
