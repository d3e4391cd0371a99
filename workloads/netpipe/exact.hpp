#pragma once

#include <mpi.h>

#include "core/arm.hpp"
#include "netpipe/buffers.hpp"
#include "netpipe/schedule.hpp"

namespace roundtrip::netpipe {

/// Collective over the two ranks of `pair`: runs the only arm by the rules of NetPIPE 3.7.2: 100
/// exchanges to warm up, then at each size the minimum of three trials of about 0.10 s, until one
/// message takes a second. Prints NetPIPE's output file on standard output, a line per size: bytes,
/// Mbit/s (2^20 bit/s), seconds one way; bytes and rate of both directions if both send at once.
void run_exact(const ScheduleRange& range, Mode mode, const Arms& arms, MPI_Comm pair);

}  // namespace roundtrip::netpipe
