#pragma once

#include <cstdint>
#include <optional>

namespace roundtrip {

/// Interruptions of this rank that the kernel does not count.
struct Stops {
  std::int64_t continued = 0;  ///< received SIGCONT signals; usually each ends a stop
  /// Longest time that the heartbeat was due and did not run, less its waiting for a processor,
  /// seconds: its cgroup was frozen, or the virtual machine paused. Empty without a heartbeat.
  std::optional<double> longest_s;
};

/// Starts the heartbeat: a process in the cgroup of this rank that wakes ten times a second, some
/// microseconds each, until this rank ends. Call it before MPI_Init: an adapter's memory may not
/// be registered when a process is copied. No function here has an effect in a simulation, whose
/// ranks are one process.
void start_heartbeat();

/// Starts counting from 0; SIGCONT only if neither the program nor its MPI handles it.
void watch_stops();

/// Stops since watch_stops().
Stops stops();

}  // namespace roundtrip
