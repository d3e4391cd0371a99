#pragma once

#include <vector>

#include "core/session.hpp"

namespace roundtrip {

/// Offsets of a rank's clocks from those of rank 0 at one moment, seconds.
struct ClockOffset {
  double at_s = 0;         ///< time of the comparison, by now() of rank 0
  double ahead_s = 0;      ///< now() of the rank minus that of rank 0
  double error_s = 0;      ///< maximum error of `ahead_s`: half a round trip
  double utc_ahead_s = 0;  ///< the same of the wall clock
};

/// Collective: one entry per rank at the root, empty elsewhere. Rank 0 asks each rank in turn for
/// its time, a few times, and takes the answer with the shortest round trip (F. Cristian,
/// Distributed Computing 3, 1989). Empty in a simulation, which has one clock.
std::vector<ClockOffset> compare_clocks(const Session& session);

/// Rate of a rank's clock relative to rank 0's, and its maximum error.
struct ClockRate {
  double rate = 1;
  double error = 0;
};

/// Rate of a rank's clock against that of rank 0, from two comparisons.
ClockRate rate_between(const ClockOffset& start, const ClockOffset& end);

}  // namespace roundtrip
