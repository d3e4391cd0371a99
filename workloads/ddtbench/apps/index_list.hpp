#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace roundtrip::ddtbench {

/// `count` different indices below `range`, in random order: the access pattern of an exchange in
/// an unstructured mesh or among particles.
class IndexList {
 public:
  IndexList(int count, int range) {
    std::vector<int> all(static_cast<std::size_t>(range));
    std::iota(all.begin(), all.end(), 0);
    std::mt19937 random(static_cast<std::uint32_t>(range));
    mix(all, random);
    indices_.assign(all.begin(), all.begin() + count);
  }

  /// Shuffles the indices.
  void shuffle(std::mt19937& random) { mix(indices_, random); }

  [[nodiscard]] const std::vector<int>& get() const { return indices_; }

  /// The indices times `factor`: displacements of blocks of `factor` values.
  [[nodiscard]] std::vector<int> times(int factor) const {
    std::vector<int> scaled;
    scaled.reserve(indices_.size());
    for (const int index : indices_) scaled.push_back(index * factor);
    return scaled;
  }

 private:
  // Not std::shuffle, whose order differs between standard libraries.
  static void mix(std::vector<int>& list, std::mt19937& random) {
    for (int& index : list) std::swap(index, list[random() % list.size()]);
  }

  std::vector<int> indices_;
};

}  // namespace roundtrip::ddtbench
