#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "ring/region/space.hpp"
#include "ring/shared_memory.hpp"
#include "ring/topology.hpp"
#include "ring/wire.hpp"

namespace roundtrip::ring {

/// Cooperative Data Sharing between all ranks, one cell each. Regions are handed over in memory
/// within a node and sent over a wire between nodes; the program sees no difference.
class Cooperation {
 public:
  /// Collective. Comm heaps of `heap` bytes; 0: as large as regions of `most` bytes need.
  Cooperation(const Topology& topology, Travel travel, std::size_t most, std::size_t heap);

  Region allocate(std::size_t bytes) { return member_.allocate(bytes); }
  void modify(Region& region) { member_.modify(region); }
  Region share(const Region& region) { return member_.share(region); }

  /// Gives the region to the cell of a rank.
  void put(int rank, Region& region);

  /// The oldest region in this rank's cell.
  Region get() {
    if (!wire_) return *member_.get(mine_);
    return get_from_anywhere();
  }

  /// Collective: waits until all regions put have arrived.
  void drain() {
    if (wire_) wire_->drain();
  }

  /// Regions copied by this rank.
  [[nodiscard]] std::int64_t copies() const { return member_.copies(); }
  /// Sets `record` to the configuration and counters of this rank.
  void describe(nlohmann::ordered_json& record) const;

 private:
  Region get_from_anywhere();

  const Topology& topology_;
  SharedMemory memory_;
  Member member_;
  std::unique_ptr<Wire> wire_;  ///< null if all ranks are in one node
  CellAddress mine_;
  std::int64_t handed_over_ = 0;
  std::int64_t sent_ = 0;
};

inline void Cooperation::put(int rank, Region& region) {
  if (const auto member = topology_.member(rank)) {
    member_.put({.member = *member, .number = 0}, region);
    ++handed_over_;
  } else {
    wire_->send(rank, std::move(region));
    ++sent_;
  }
}

}  // namespace roundtrip::ring
