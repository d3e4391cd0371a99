#pragma once

#include <mpi.h>

#include "core/arm.hpp"
#include "netpipe/buffers.hpp"
#include "netpipe/schedule.hpp"

namespace roundtrip::netpipe {

/// Collective over the two ranks of `pair`: a run by NetPIPE 3.7.2's own rules, of the only arm:
/// 100 exchanges to warm up, then at each size the least of three trials of about 0.10 s, until one
/// message takes a second. Prints NetPIPE's output file on standard output, a line a size: bytes,
/// Mbit/s (2^20 bit/s), seconds one way; bytes and rate of both directions if both send at once.
void run_exact(const ScheduleRange& range, Mode mode, const Arms& arms, MPI_Comm pair);

}  // namespace roundtrip::netpipe
