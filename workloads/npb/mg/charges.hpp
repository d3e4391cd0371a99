#pragma once

#include "npb/common/comm.hpp"
#include "npb/mg/grid.hpp"
#include "npb/mg/halo.hpp"

namespace roundtrip::npb::mg {

/// Collective: the right-hand side. Of a sequence of n^3 random numbers, x fastest, the places of
/// the ten largest become +1, of the ten smallest -1, all others 0.
void place_charges(Comm& comm, const Halo& halo, int n, Grid& v);

}  // namespace roundtrip::npb::mg
