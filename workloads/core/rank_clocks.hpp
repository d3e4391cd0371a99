#pragma once

#include <vector>

#include "core/session.hpp"

namespace roundtrip {

/// The clocks of a rank against those of rank 0 at one moment, seconds.
struct ClockOffset {
  double at_s = 0;         ///< when, by rank 0's clock of all measurements
  double ahead_s = 0;      ///< of that clock
  double error_s = 0;      ///< `ahead_s` is wrong by no more: half of a round trip
  double utc_ahead_s = 0;  ///< of the wall clock
};

/// Collective: one entry a rank at the root, empty elsewhere. Rank 0 asks each rank for its time in
/// turn, a few times, and takes the answer that came fastest (F. Cristian, Distributed Computing 3,
/// 1989). Empty in a simulation, which has one clock.
std::vector<ClockOffset> compare_clocks(const Session& session);

/// How fast the clock of a rank runs, that of rank 0 being 1, and by how much that may be wrong.
struct ClockRate {
  double rate = 1;
  double error = 0;
};

/// From two comparisons of the same rank.
ClockRate rate_between(const ClockOffset& start, const ClockOffset& end);

}  // namespace roundtrip
