#include "ring/cooperation.hpp"

#include <sched.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "ring/datagrams.hpp"

namespace roundtrip::ring {
namespace {

using Clock = std::chrono::steady_clock;

/// One region is held while another arrives; UDP keeps each sent region until it is acknowledged.
std::size_t heap_for(const Topology& topology, Travel travel, std::size_t most) {
  constexpr std::size_t regions = 2;
  if (topology.one_node() || travel != Travel::udp) return Heap::bytes_for(regions * most, regions);
  constexpr std::size_t frame = 65'536;
  constexpr std::size_t kept = Datagrams::kept_regions;
  return Heap::bytes_for(2 * regions * most + kept * std::min(most, frame), 2 * regions + kept);
}

Layout layout(const Topology& topology, Travel travel, std::size_t most, std::size_t heap) {
  return {.members = topology.members(),
          .cells = 1,
          .heap_bytes = heap != 0 ? heap : heap_for(topology, travel, most)};
}

Member join(const Topology& topology, const SharedMemory& memory, const Layout& layout) {
  Space space(memory.data(), layout);
  if (topology.member() == 0) space.initialise();
  MPI_Barrier(topology.node());
  return {space, topology.member(), topology.wait()};
}

}  // namespace

Cooperation::Cooperation(const Topology& topology, Travel travel, std::size_t most,
                         std::size_t heap)
    : topology_(topology),
      memory_(topology, Space::bytes(layout(topology, travel, most, heap))),
      member_(join(topology, memory_, layout(topology, travel, most, heap))),
      wire_(topology.one_node() ? nullptr : make_wire(travel, topology, member_)),
      mine_{.member = topology.member(), .number = 0} {}

/// Polls the cell and the wire in turn and yields the processor between rounds, which costs little
/// compared with polling a network; after `network_yields`, naps instead.
Region Cooperation::get_from_anywhere() {
  constexpr int looks = 16;  // polls of the cell, which are cheap, per poll of the wire
  std::optional<Clock::time_point> nap_from;
  while (true) {
    for (int look = 0; look < looks; ++look) {
      if (auto region = member_.get(mine_, no_wait)) return std::move(*region);
    }
    if (auto region = wire_->look()) return std::move(*region);
    const auto time = Clock::now();
    if (!nap_from) nap_from = time + topology_.wait().network_yields;
    if (time < *nap_from) {
      sched_yield();
    } else {
      wire_->nap();
    }
  }
}

void Cooperation::describe(nlohmann::ordered_json& record) const {
  record = {{"heap_bytes", member_.space().layout().heap_bytes},
            {"queue_capacity", Cell::capacity},
            {"copies", copies()},
            {"handed_over", handed_over_},
            {"sent", sent_}};
  if (wire_) wire_->describe(record);
}

}  // namespace roundtrip::ring
