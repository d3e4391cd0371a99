#pragma once

#include <mpi.h>

namespace roundtrip {

/// The clock of all measurements, seconds. MPI's, because under simulation no other one is right.
inline double now() {
  return MPI_Wtime();
}

/// What one timing costs and how fine it is; measured, not asked for (MPI_Wtick is often wrong).
struct ClockQuality {
  double resolution_s = 0;  ///< smallest step seen between two readings
  double overhead_s = 0;    ///< mean duration of a reading
};

/// Reads the clock some ten thousand times. A clock that never moves meanwhile has no overhead, and
/// MPI_Wtick() for resolution. That of a simulation is as fine as its model, and costs nothing.
ClockQuality examine_clock();

}  // namespace roundtrip
