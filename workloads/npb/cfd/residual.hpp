#pragma once

#include "npb/cfd/cell.hpp"

namespace roundtrip::npb::cfd {

/// Quantities computed from the conserved quantities u at each point.
struct Derived {
  Scalar inverse_density;
  std::array<Scalar, 3> velocity;
  Scalar kinetic;  ///< half the square of the velocity

  explicit Derived(const Cell& cell)
      : inverse_density(cell.scalar(0)),
        velocity{cell.scalar(0), cell.scalar(0), cell.scalar(0)},
        kinetic(cell.scalar(0)) {}
};

/// Computes `derived` at own points and one layer of ghosts.
void derive(const Cell& cell, const Vector& u, Derived& derived);

/// rhs = scale (forcing + R(u)) at inner points: R is the right-hand side of dU/dt, discretised by
/// central differences, with artificial dissipation of second and fourth order. `rhs` may be
/// `forcing`.
void residual(const Cell& cell, const Vector& u, const Derived& derived, const Vector& forcing,
              double scale, Vector& rhs);

/// The forcing for which the residual of the exact solution is zero. Overwrites `u` with the exact
/// solution and `derived` with its derived quantities.
Vector make_forcing(const Cell& cell, Vector& u, Derived& derived);

/// Sums of squares at inner points for each equation: of `v`, and of `u` minus the exact solution.
State sum_of_squares(const Cell& cell, const Vector& v);
State sum_of_squared_errors(const Cell& cell, const Vector& u);

}  // namespace roundtrip::npb::cfd
