#pragma once

#include "npb/cfd/cell.hpp"

namespace roundtrip::npb::cfd {

/// The exact solution on the boundary of the grid, inside what transfinite interpolation makes of
/// it (RNR-94-007, section 4.3.2). Ghosts become 1.
void set_initial(const Cell& cell, Vector& u);

/// The exact solution at own points and those ghosts that are points of the grid; others 1.
void set_exact(const Cell& cell, Vector& u);

}  // namespace roundtrip::npb::cfd
