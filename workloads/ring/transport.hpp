#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ring/topology.hpp"

namespace roundtrip::ring {

/// Some laps of the token, the same on every rank.
struct Laps {
  std::int64_t warm = 0;  ///< untimed ones before
  std::int64_t timed = 0;
  std::int64_t closing = 0;  ///< untimed ones after: whoever is through may keep others from theirs
  std::uint64_t count = 0;   ///< passes that the token has made before
  bool verify =
      false;          ///< before all: one lap in which every rank checks every byte and changes it
  bool each = false;  ///< time each lap by itself
  bool read = false;  ///< every rank reads every byte and renews each cache line; not with `verify`
  std::uint64_t sum = 0;  ///< with `read`: what the token's words add up to at rank 0
};

/// What a rank saw of them.
struct LapsSeen {
  std::vector<double> seconds;       ///< rank 0: of all timed laps together, or of each
  std::optional<std::string> fault;  ///< wrong data, or a region that was not handed over in place
  std::uint64_t sum = 0;  ///< rank 0, after `verify` or `read`: what the token's words add up to
};

/// A way to pass a token of some bytes round the ring. All members but the constructors of derived
/// classes are called by all ranks in the same order.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// A new token of `bytes` bytes, at rank 0, in place of the one there was. Not collective inside:
  /// may throw Failure on one rank.
  virtual void begin(std::size_t bytes) = 0;

  /// The token goes round and comes back to rank 0.
  virtual LapsSeen run(const Laps& laps) = 0;

  /// Adds what is worth knowing about the launch to `record`, which only rank 0 keeps.
  virtual void describe(nlohmann::ordered_json& record) const { static_cast<void>(record); }
};

/// A transport that can be had by name.
struct Variant {
  std::string name;
  /// Why it cannot work on this ring; nothing if it can. Collective, the same on every rank.
  std::function<std::optional<std::string>(const Topology&)> obstacle;
  /// Collective. `most` bytes are passed at most; the region transport has comm heaps of
  /// `heap` bytes, 0: as large as needed.
  std::function<std::unique_ptr<Transport>(const Topology&, std::size_t most, std::size_t heap)>
      make;
  /// Whether it is also timed with every byte read, as `<name>-read`, where all ranks share memory.
  bool read = false;
  /// Whether a rank waits for another in memory or at a socket. Simulated ranks run one at a time
  /// until they call MPI: such a one would wait for ever.
  bool waits_without_mpi = false;
};

/// The variant, timed also with every byte read.
inline Variant with_reading(Variant variant) {
  variant.read = true;
  return variant;
}

/// The variant, which does not wait in calls of MPI.
inline Variant without_mpi(Variant variant) {
  variant.waits_without_mpi = true;
  return variant;
}

/// Those that need nothing but MPI: cache-line, region, region-udp, mpi, mpi-sync, mpi-typed,
/// mpi-rma, mpi-shm.
std::vector<Variant> mpi_variants();

/// The obstacle of transports that need all ranks in one node.
std::optional<std::string> unless_one_node(const Topology& topology);
inline std::optional<std::string> nowhere_in_the_way(const Topology& /*topology*/) {
  return std::nullopt;
}

}  // namespace roundtrip::ring
