#pragma once

#include "npb/cfd/cell.hpp"

namespace roundtrip::npb::cfd {

/// Sets u to the exact solution on the boundary of the grid, to its transfinite interpolation
/// inside (RNR-94-007, section 4.3.2), and to 1 at ghosts.
void set_initial(const Cell& cell, Vector& u);

/// Sets u to the exact solution at all points of the grid, ghosts included; to 1 outside of it.
void set_exact(const Cell& cell, Vector& u);

}  // namespace roundtrip::npb::cfd
