#pragma once

#include <array>

#include "npb/mg/grid.hpp"

namespace roundtrip::npb::mg {

/// Weights of a 27-point operator by distance: centre, 6 faces, 12 edges, 8 corners.
using Stencil = std::array<double, 4>;

/// r = v - A u at the own points (v and r may be the same grid). The discrete Laplacian A has no
/// face term. Adds the squares of r to `squares`, unless null, while a line is in cache.
void residual(const Stencil& a, const Grid& u, const Grid& v, Grid& r, double* squares = nullptr);

/// u += S r at the own points. The smoother S has no corner term.
void smooth(const Stencil& s, const Grid& r, Grid& u);

/// coarse = P fine: the sum of 27 points with weights 1/2, 1/4, 1/8, 1/16. Own point c of a coarse
/// grid is own point 2 c of the fine grid. If both have only one point, the result is correct only
/// on ranks whose point is on both levels (Halo::shift, Halo::share).
void restrict_to(const Grid& fine, Grid& coarse);

/// fine += Q coarse: trilinear interpolation, also to the fine ghosts. `shift`: Halo::shift.
void interpolate(const Grid& coarse, Grid& fine, const std::array<int, 3>& shift);

}  // namespace roundtrip::npb::mg
