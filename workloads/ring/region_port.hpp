#pragma once

#include <mpi.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ring/cooperation.hpp"
#include "ring/token.hpp"
#include "ring/topology.hpp"

namespace roundtrip::ring {

/// Hands the region itself over, by Cooperative Data Sharing.
template <Travel travel>
class RegionPort {
 public:
  RegionPort(const Topology& topology, std::size_t most, std::size_t heap)
      : topology_(topology), cds_(topology, travel, most, heap) {}

  void begin(std::size_t bytes) {
    region_ = Region();
    if (topology_.rank() == 0) region_ = cds_.allocate(bytes);
    offset_.reset();
    moved_.reset();
  }
  char* held() { return region_.bytes().data(); }
  void put() {
    given_ = region_.offset();
    cds_.put(topology_.next(), region_);
  }
  char* get() {
    region_ = cds_.get();
    // Within one node, a region keeps its offset over laps unless it was copied.
    if (topology_.one_node() && offset_.value_or(region_.offset()) != region_.offset()) {
      moved_ = region_.offset();
    }
    offset_ = region_.offset();
    cds_.modify(region_);
    return region_.bytes().data();
  }
  void poison() {}
  void drain() {
    cds_.drain();
    if (!topology_.one_node()) compare_with_previous();
  }
  [[nodiscard]] std::optional<std::string> fault() const {
    if (cds_.copies() != 0) return std::to_string(cds_.copies()) + " regions were copied";
    if (!moved_) return std::nullopt;
    return "the region was not handed over in place: it moved to offset " + std::to_string(*moved_);
  }
  void describe(nlohmann::ordered_json& record) const {
    nlohmann::ordered_json mine;
    cds_.describe(mine);
    auto& ranks = record[travel == Travel::udp ? "region-udp" : "region"]["ranks"];
    for (const std::string& text : topology_.session().gather(mine.dump())) {
      ranks.push_back(nlohmann::ordered_json::parse(text));
    }
  }

 protected:
  /// Shares the region, so that modify() copies it; returns the bytes of the copy.
  char* split() {
    const Region other = cds_.share(region_);
    cds_.modify(region_);
    return region_.bytes().data();
  }
  /// Moves the bytes to another region; returns them there.
  char* relocate() {
    Region other = cds_.allocate(region_.bytes().size());
    std::ranges::copy(region_.bytes(), other.bytes().begin());
    region_ = std::move(other);
    offset_ = region_.offset();
    return region_.bytes().data();
  }

 private:
  /// After laps: the offset got last must be the one that a previous rank of this node put.
  void compare_with_previous() {
    constexpr int tag = 4;
    MPI_Request request = MPI_REQUEST_NULL;
    if (topology_.member(topology_.next())) {
      MPI_Isend(&given_, 1, MPI_UINT64_T, topology_.next(), tag, topology_.comm(), &request);
    }
    if (topology_.member(topology_.previous())) {
      std::uint64_t theirs = 0;
      MPI_Recv(&theirs, 1, MPI_UINT64_T, topology_.previous(), tag, topology_.comm(),
               MPI_STATUS_IGNORE);
      if (offset_.value_or(theirs) != theirs) moved_ = offset_;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  const Topology& topology_;
  Cooperation cds_;
  Region region_;
  std::uint64_t given_ = 0;              ///< offset of the region that this rank put last
  std::optional<std::uint64_t> offset_;  ///< offset of the region that this rank got last
  std::optional<std::uint64_t> moved_;
};

}  // namespace roundtrip::ring
