#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>

namespace roundtrip {

/// Whether this build is for SimGrid's SMPI: all ranks are contexts of one process, which run one
/// at a time and yield in calls of MPI alone, and the clock is that of a model.
#ifdef SMPI_H
inline constexpr bool simulated = true;
#else
inline constexpr bool simulated = false;
#endif

/// To which SimGrid computes times (its surf/precision, as smpirun sets it), seconds.
inline constexpr double precision_of_a_simulation_s = 1e-9;

/// Why what waits for another rank without calling MPI is left out of a simulation.
inline constexpr const char* ranks_are_cooperative =
    "waits for another rank without calling MPI, and simulated ranks run one at a time";

/// Tells a simulation that this rank has just done so many operations. Otherwise it costs nothing:
/// what computes the argument is left out by the compiler too.
inline void work([[maybe_unused]] double operations) {
#ifdef SMPI_H
  smpi_execute_flops(operations);
#endif
}

/// Marks where a timed section begins (1) and ends (0): for profilers, which count between these,
/// and in the trace of a simulation, as work of nothing.
inline void mark_section([[maybe_unused]] int level) {
#ifdef SMPI_H
  smpi_execute_flops(0);
#else
  MPI_Pcontrol(level);
#endif
}

/// `simulated` of run.json: version of SimGrid; from the environment, where it is set, platform,
/// its sha256 and speed of a host in flop/s. Null unless simulated.
nlohmann::ordered_json describe_simulation();

/// Throws Failure(usage) unless a simulation is one that can be reproduced: computing costs the
/// declared work and nothing else, and hosts have the speed that the environment tells.
void require_reproducible_simulation();

}  // namespace roundtrip
