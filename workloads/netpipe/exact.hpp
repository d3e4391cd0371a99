#pragma once

#include "netpipe/pair.hpp"
#include "netpipe/schedule.hpp"

namespace roundtrip::netpipe {

/// The transmitter's part of a run by NetPIPE 3.7.2's own rules, on the only arm of `pair`: 100
/// exchanges to warm up, then at each size the least of three trials of about 0.10 s, until one
/// message takes a second. Prints NetPIPE's output file on standard output, a line a size: bytes,
/// Mbit/s (2^20 bit/s), seconds one way; bytes and rate of both directions if both send at once.
void run_exact(const ScheduleRange& range, Mode mode, Pair& pair);

}  // namespace roundtrip::netpipe
