#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npb/common/array.hpp"
#include "npb/common/comm.hpp"

namespace roundtrip::npb::is {

/// Ranks keys that are spread over all ranks. Afterwards each rank owns a contiguous range of key
/// values, has all keys of that range and knows how many keys lie below each.
class Sorter {
 public:
  /// Keys are in [0, 2^log2_max_key) and are divided between ranks in 2^log2_buckets ranges.
  Sorter(Comm& comm, int log2_max_key, int log2_buckets);

  /// Collective. `keys`: those of this rank, the same number on each. `summed` becomes its sum over
  /// all ranks, in the same message as the sizes of the buckets.
  void rank_keys(std::span<const int> keys, std::span<int> summed);

  /// True if this rank owns the range of `key`.
  [[nodiscard]] bool owns(int key) const { return key >= first_key_ && key < end_key_; }

  /// Number of keys below `key`, of which this rank must own the range.
  [[nodiscard]] std::int64_t rank_of(int key) const;

  /// Of the owned keys in any order: its sum over all ranks is that of all keys, modulo 2^64.
  [[nodiscard]] std::uint64_t checksum() const { return checksum_; }

  /// Collective: puts the keys in the order of their ranks; the number of places out of order, at
  /// the borders between ranks too, and of keys that ever came to a rank that does not own them.
  [[nodiscard]] int disorder() const;

 private:
  void sum_bucket_sizes(std::span<const int> keys, std::span<int> summed);
  void divide_range(std::size_t total);
  [[nodiscard]] int keys_for(int rank, std::size_t stream) const;
  std::span<const int> redistribute(std::span<const int> keys);
  void count(std::span<const int> keys);
  [[nodiscard]] bool owns_all(std::span<const int> keys) const;

  Comm& comm_;
  int log2_max_key_;
  std::size_t buckets_;
  int shift_;                      ///< bucket of a key: key >> shift
  std::vector<int> own_sizes_;     ///< of the buckets, keys of this rank, one stream after another
  std::vector<int> bucket_sizes_;  ///< of all ranks together, and what is summed with them
  std::vector<int> first_bucket_;  ///< of each rank, and the end
  int first_key_ = 0;
  int end_key_ = 0;
  std::int64_t keys_below_ = 0;
  std::uint64_t checksum_ = 0;
  Array<int> outgoing_;
  Array<int> incoming_;
  std::span<const int> owned_;  ///< keys of the own range, and what strayed here
  Array<int> up_to_;            ///< per key of the own range: number of owned keys <= it
  int strays_ = 0;              ///< keys that ever came here, but belong to no rank or to another
};

}  // namespace roundtrip::npb::is
