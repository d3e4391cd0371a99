#pragma once

#include <mpi.h>

namespace roundtrip {

/// The clock of all measurements, seconds: MPI's, because no other is right in a simulation.
inline double now() {
  return MPI_Wtime();
}

/// Cost and resolution of the clock, as measured (MPI_Wtick is often wrong).
struct ClockQuality {
  double resolution_s = 0;  ///< smallest step between two readings
  double overhead_s = 0;    ///< mean duration of a reading
};

/// Reads the clock ten thousand times. If it does not advance, the overhead is 0 and the resolution
/// MPI_Wtick(). In a simulation, the overhead is 0 and the resolution that of the model.
ClockQuality examine_clock();

}  // namespace roundtrip
