#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "ring/region/space.hpp"
#include "ring/topology.hpp"

namespace roundtrip::ring {

/// How regions travel to ranks of other nodes.
class Wire {
 public:
  Wire() = default;
  virtual ~Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  /// The region goes to that rank. It is freed once its bytes are no longer needed here.
  virtual void send(int rank, Region&& region) = 0;
  /// The oldest region that has arrived whole, in this rank's comm heap.
  virtual std::optional<Region> look() = 0;
  /// Nothing has come for a while: gives the processor up, at most until something arrives.
  virtual void nap() = 0;
  /// Collective: waits until all regions sent have arrived.
  virtual void drain() {}
  /// Adds what is worth knowing about this rank's part to `record`.
  virtual void describe(nlohmann::ordered_json& record) const { static_cast<void>(record); }
};

enum class Travel : std::uint8_t {
  mpi,  ///< as a message of MPI
  udp   ///< as datagrams, with time-outs and acknowledgements of our own
};

/// Collective. `member` must outlive it.
std::unique_ptr<Wire> make_wire(Travel travel, const Topology& topology, Member& member);

}  // namespace roundtrip::ring
