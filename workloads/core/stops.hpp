#pragma once

#include <cstdint>
#include <optional>

namespace roundtrip {

/// Interruptions of this rank that the kernel does not count.
struct Stops {
  std::int64_t continued = 0;  ///< received SIGCONT signals; usually each ends a stop
  /// Maximum over the steps of the time neither running nor runnable, seconds per sleep: long if
  /// this process, or one that it waits for, was frozen or stopped. Empty without steps.
  std::optional<double> longest_s;
};

/// Starts counting SIGCONT from 0, unless the program or its MPI has a handler of its own.
/// No function here has an effect in a simulation, whose ranks are one process.
void watch_stops();

/// Starts the first step; the time before it belongs to no step.
void begin_steps();

/// Ends a step of the measurement and starts the next. Costs two system calls.
void note_step();

/// Stops since watch_stops().
Stops stops();

}  // namespace roundtrip
