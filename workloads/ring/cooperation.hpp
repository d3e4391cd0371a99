#pragma once

#include <mpi.h>

#include <cstdint>

#include "ring/circle.hpp"
#include "ring/region/space.hpp"
#include "ring/shared_memory.hpp"

namespace roundtrip::ring {

/// Cooperative Data Sharing between all ranks, one cell each. Whether a region is handed over in
/// memory or travels by message depends on where the other rank is, and is not seen by the program.
class Cooperation {
 public:
  /// Collective. Comm heaps of `heap` bytes; 0: as large as two regions of `most` bytes need.
  Cooperation(const Circle& circle, std::size_t most, std::size_t heap);

  Region allocate(std::size_t bytes) { return member_.allocate(bytes); }
  void modify(Region& region) { member_.modify(region); }
  Region share(const Region& region) { return member_.share(region); }

  /// Gives the region to the cell of a rank.
  void put(int rank, Region& region);

  /// The oldest region in this rank's cell.
  Region get() {
    if (!circle_.one_node()) return get_from_anywhere();
    return *member_.get(mine_);
  }

  [[nodiscard]] std::size_t heap_bytes() const { return member_.space().layout().heap_bytes; }
  /// Regions copied, handed over in memory, and sent by message, by this rank.
  [[nodiscard]] std::int64_t copies() const { return member_.copies(); }
  [[nodiscard]] std::int64_t handed_over() const { return handed_over_; }
  [[nodiscard]] std::int64_t sent() const { return sent_; }

 private:
  Region get_from_anywhere();
  void send(int rank, Region& region);

  const Circle& circle_;
  SharedMemory memory_;
  Member member_;
  CellAddress mine_;
  std::int64_t handed_over_ = 0;
  std::int64_t sent_ = 0;
};

inline void Cooperation::put(int rank, Region& region) {
  const auto member = circle_.member(rank);
  if (!member) return send(rank, region);
  member_.put({.member = *member, .number = 0}, region);
  ++handed_over_;
}

}  // namespace roundtrip::ring
