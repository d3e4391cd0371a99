#pragma once

#include "npb/cfd/cell.hpp"

namespace roundtrip::npb::lu {

/// This rank's part of the integral of the pressure over the surface of a box just inside of the
/// grid (RNR-94-007, section 4.5), by the trapezoidal rule.
double surface_integral(const cfd::Cell& cell, const cfd::Vector& u);

}  // namespace roundtrip::npb::lu
