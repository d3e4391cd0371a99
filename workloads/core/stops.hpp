#pragma once

#include <cstdint>
#include <optional>

namespace roundtrip {

/// How this rank was kept from going on, by what the kernel does not count.
struct Stops {
  std::int64_t continued = 0;  ///< times that it got SIGCONT: it had been stopped, as a rule
  /// Seconds of the longest step, per sleep in it, without the processor and without asking for
  /// one: of a frozen or stopped process, or of one that waits for such. Nothing without steps.
  std::optional<double> longest_s;
};

/// From here on SIGCONT is counted, unless the program or its MPI has a handler of its own.
/// No call has an effect in a simulation, whose ranks are one process.
void watch_stops();

/// What follows consists of steps, up to the next note_step(): what was before is none.
void begin_steps();

/// A step of the measurement ends: some batches, or one. Costs two system calls.
void note_step();

/// Since watch_stops().
Stops stops();

}  // namespace roundtrip
