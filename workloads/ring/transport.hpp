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

/// A series of laps, the same on every rank.
struct Laps {
  std::int64_t warm = 0;  ///< untimed laps before
  std::int64_t timed = 0;
  std::int64_t closing = 0;  ///< untimed laps after: a finished rank may delay another's last pass
  std::uint64_t count = 0;   ///< passes of the token before these laps
  bool verify = false;       ///< first a lap in which every rank checks and changes every byte
  bool each = false;         ///< time each lap by itself
  bool read = false;  ///< every rank reads every byte and renews each cache line; not with `verify`
  std::uint64_t sum = 0;  ///< with `read`: sum of the words of the token's body at rank 0
};

/// Results of the laps on one rank.
struct LapsSeen {
  std::vector<double> seconds;       ///< rank 0: of all timed laps together, or of each
  std::optional<std::string> fault;  ///< wrong data, or a region that was not handed over in place
  std::uint64_t sum = 0;  ///< rank 0, after `verify` or `read`: sum of the words of the body
};

/// A way to pass a token round the ring. All ranks call its members, except the constructors of
/// derived classes, in the same order.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Replaces the token by a new one of `bytes` bytes at rank 0. Local: may throw Failure on one
  /// rank.
  virtual void begin(std::size_t bytes) = 0;

  /// Passes the token round; it ends at rank 0.
  virtual LapsSeen run(const Laps& laps) = 0;

  /// Adds configuration and counters to `record`, which only rank 0 keeps.
  virtual void describe(nlohmann::ordered_json& record) const { static_cast<void>(record); }
};

/// A transport that can be chosen by name.
struct Variant {
  std::string name;
  /// Reason why it cannot run on this ring; empty if it can. Collective, the same on every rank.
  std::function<std::optional<std::string>(const Topology&)> obstacle;
  /// Collective. `most`: largest token, bytes; `heap`: comm heap of the region transport, bytes, 0:
  /// as large as needed.
  std::function<std::unique_ptr<Transport>(const Topology&, std::size_t most, std::size_t heap)>
      make;
  /// Whether it is also timed with every byte read, as `<name>-read`, where all ranks share memory.
  bool read = false;
  /// Whether a rank waits for another in memory or at a socket: forever in a simulation, where
  /// ranks run one at a time until they call MPI.
  bool waits_without_mpi = false;
};

/// The variant, timed also with every byte read.
inline Variant with_reading(Variant variant) {
  variant.read = true;
  return variant;
}

/// The variant, marked as waiting without MPI calls.
inline Variant without_mpi(Variant variant) {
  variant.waits_without_mpi = true;
  return variant;
}

/// Variants that need only MPI: cache-line, region, region-udp, mpi, mpi-sync, mpi-typed, mpi-rma,
/// mpi-shm.
std::vector<Variant> mpi_variants();

/// The obstacle of transports that need all ranks in one node.
std::optional<std::string> unless_one_node(const Topology& topology);
inline std::optional<std::string> nowhere_in_the_way(const Topology& /*topology*/) {
  return std::nullopt;
}

}  // namespace roundtrip::ring
