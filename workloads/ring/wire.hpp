#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "ring/region/space.hpp"
#include "ring/topology.hpp"

namespace roundtrip::ring {

/// Transfer of regions to ranks of other nodes.
class Wire {
 public:
  Wire() = default;
  virtual ~Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  /// Sends the region to a rank and frees it once its bytes are no longer needed.
  virtual void send(int rank, Region&& region) = 0;
  /// The oldest region received completely, in this rank's comm heap; empty if none.
  virtual std::optional<Region> look() = 0;
  /// Gives up the processor after idle polls, at most until something arrives.
  virtual void nap() = 0;
  /// Collective: waits until all regions sent have arrived.
  virtual void drain() {}
  /// Adds configuration and counters of this rank to `record`.
  virtual void describe(nlohmann::ordered_json& record) const { static_cast<void>(record); }
};

enum class Travel : std::uint8_t {
  mpi,  ///< as an MPI message
  udp   ///< as datagrams, with time-outs and acknowledgements of our own
};

/// Collective. `member` must outlive it.
std::unique_ptr<Wire> make_wire(Travel travel, const Topology& topology, Member& member);

}  // namespace roundtrip::ring
