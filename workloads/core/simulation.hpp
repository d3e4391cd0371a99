#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>

namespace roundtrip {

/// Whether this build is for SimGrid's SMPI: all ranks are contexts of one process, which run one
/// at a time and yield only in MPI calls, and the clock is that of a model.
#ifdef SMPI_H
inline constexpr bool simulated = true;
#else
inline constexpr bool simulated = false;
#endif

/// Precision of SimGrid's times, seconds (its surf/precision, as smpirun sets it).
inline constexpr double precision_of_a_simulation_s = 1e-9;

/// Why a simulation excludes variants that wait for another rank without calling MPI.
inline constexpr const char* ranks_are_cooperative =
    "waits for another rank without calling MPI, and simulated ranks run one at a time";

/// Adds the time of `operations`, flop, to this rank of a simulation. Free in other builds: the
/// compiler also removes the computation of the argument.
inline void work([[maybe_unused]] double operations) {
#ifdef SMPI_H
  smpi_execute_flops(operations);
#endif
}

/// Marks the begin (1) and end (0) of a timed section: for profilers, which count between them, and
/// in the trace of a simulation, as 0 flop.
inline void mark_section([[maybe_unused]] int level) {
#ifdef SMPI_H
  smpi_execute_flops(0);
#else
  MPI_Pcontrol(level);
#endif
}

/// `simulated` of run.json: version of SimGrid, platform and its sha256 (from the environment; null
/// if unset), speed of this host in the platform, flop/s. Null unless simulated.
nlohmann::ordered_json describe_simulation();

/// Throws Failure(usage) unless a simulation is reproducible: computation takes the time of its
/// declared work only, and this host has the speed that the environment declares, if any.
void require_reproducible_simulation();

}  // namespace roundtrip
