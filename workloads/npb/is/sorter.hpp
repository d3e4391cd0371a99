#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npb/common/array.hpp"
#include "npb/common/comm.hpp"

namespace roundtrip::npb::is {

/// Ranks keys that are distributed over all MPI ranks. Afterwards each MPI rank owns a contiguous
/// range of key values, with all keys of that range and the number of keys below each.
class Sorter {
 public:
  /// Keys lie in [0, 2^log2_max_key), in 2^log2_buckets buckets, divided among the MPI ranks.
  Sorter(Comm& comm, int log2_max_key, int log2_buckets);

  /// Collective. `keys` are this rank's keys, the same number on each rank. `summed` is replaced by
  /// its sum over all ranks, reduced in the same message as the bucket sizes.
  void rank_keys(std::span<const int> keys, std::span<int> summed);

  /// True if this rank owns the range of `key`.
  [[nodiscard]] bool owns(int key) const { return key >= first_key_ && key < end_key_; }

  /// Number of keys below `key`. This rank must own the range of `key`.
  [[nodiscard]] std::int64_t rank_of(int key) const;

  /// Checksum of the owned keys, independent of their order. The sum over all ranks is the checksum
  /// of all keys, modulo 2^64.
  [[nodiscard]] std::uint64_t checksum() const { return checksum_; }

  /// Collective: sorts a copy of the keys by their ranks. Returns this rank's number of faults:
  /// keys out of order, also at the borders between ranks, and keys that a rank received but does
  /// not own.
  [[nodiscard]] int disorder() const;

 private:
  void sum_bucket_sizes(std::span<const int> keys, std::span<int> summed);
  void divide_range(std::size_t total);
  [[nodiscard]] int keys_for(int rank, std::size_t stream) const;
  void redistribute(std::span<const int> keys);
  void count();
  [[nodiscard]] bool owns_all(std::span<const int> keys) const;

  Comm& comm_;
  int log2_max_key_;
  std::size_t buckets_;
  int shift_;                      ///< bucket of a key: key >> shift
  std::vector<int> own_sizes_;     ///< bucket sizes of this rank's keys, stream by stream
  std::vector<int> bucket_sizes_;  ///< over all ranks; during the sum, also `summed`
  std::vector<int> first_bucket_;  ///< first bucket of each rank, and the end
  int first_key_ = 0;
  int end_key_ = 0;
  std::int64_t keys_below_ = 0;
  std::uint64_t checksum_ = 0;
  Array<int> outgoing_;
  std::span<const int> kept_;  ///< keys of this rank's range that it need not send
  Array<int> incoming_;        ///< keys received: of this rank's range, and strays
  Array<int> up_to_;           ///< for each key of this rank's range: number of owned keys <= it
  int strays_ = 0;             ///< keys received outside of this rank's range, all rankings
};

}  // namespace roundtrip::npb::is
