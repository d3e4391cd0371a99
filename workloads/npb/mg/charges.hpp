#pragma once

#include "npb/common/comm.hpp"
#include "npb/mg/grid.hpp"
#include "npb/mg/halo.hpp"

namespace roundtrip::npb::mg {

/// Collective: makes the right-hand side from a sequence of n^3 random numbers, x fastest: +1 at
/// the ten largest, -1 at the ten smallest, 0 elsewhere.
void place_charges(Comm& comm, const Halo& halo, int n, Grid& v);

}  // namespace roundtrip::npb::mg
