#pragma once

#include "npb/cfd/cell.hpp"
#include "npb/cfd/lanes.hpp"
#include "npb/cfd/physics.hpp"
#include "npb/cfd/residual.hpp"

namespace roundtrip::npb::cfd {

/// The quantities in the Jacobians at a point. T: double, or Lanes for several points at once.
template <class T>
struct FlowOf {
  T inverse_density;
  std::array<T, 3> velocity;
  T kinetic;
  T energy;  ///< per unit mass
};
using Flow = FlowOf<double>;

template <class T>
using StateOf = std::array<T, equations>;

/// Pointers to the fields of a Flow.
struct FlowFields {
  const double* inverse_density;
  std::array<const double*, 3> velocity;
  const double* kinetic;
  const double* energy;  ///< per unit volume

  FlowFields(const Vector& u, const Derived& derived)
      : inverse_density(derived.inverse_density.data()),
        velocity{derived.velocity[0].data(), derived.velocity[1].data(),
                 derived.velocity[2].data()},
        kinetic(derived.kinetic.data()),
        energy(u[4].data()) {}

  [[gnu::always_inline]] [[nodiscard]] Flow at(std::ptrdiff_t p) const {
    const double inverse = inverse_density[p];
    return {
        inverse, {velocity[0][p], velocity[1][p], velocity[2][p]}, kinetic[p], energy[p] * inverse};
  }

  /// The flow at `lanes` points at distance `apart`.
  [[gnu::always_inline]] [[nodiscard]] FlowOf<Lanes> at(std::ptrdiff_t p,
                                                        std::ptrdiff_t apart) const {
    const Lanes inverse = load(inverse_density + p, apart);
    return {
        inverse,
        {load(velocity[0] + p, apart), load(velocity[1] + p, apart), load(velocity[2] + p, apart)},
        load(kinetic + p, apart),
        load(energy + p, apart) * inverse};
  }
};

/// (a A + b (N + c I)) x for direction d: A is the Jacobian of the flux in that direction, N the
/// Jacobian of its viscous part, c the second-order dissipation.
template <std::size_t d, class T>
[[gnu::always_inline]] inline StateOf<T> spread(const FlowOf<T>& f, const StateOf<T>& x, double a,
                                                double b) {
  constexpr std::size_t d2 = (d + 1) % 3;
  constexpr std::size_t d3 = (d + 2) % 3;
  const T v1 = f.velocity[d];
  const T v2 = f.velocity[d2];
  const T v3 = f.velocity[d3];
  // The change of momentum minus velocity times the change of mass.
  const T w1 = x[1 + d] - v1 * x[0];
  const T w2 = x[1 + d2] - v2 * x[0];
  const T w3 = x[1 + d3] - v3 * x[0];
  const T pressure =
      c2 * (f.kinetic * x[0] - v1 * x[1 + d] - v2 * x[1 + d2] - v3 * x[1 + d3] + x[4]);
  const T enthalpy = c1 * f.energy - c2 * f.kinetic;
  const T viscous = b * c34 * f.inverse_density;
  const double artificial = b * dissipation[d];
  StateOf<T> y;
  y[0] = a * x[1 + d] + artificial * x[0];
  y[1 + d] =
      a * (v1 * (x[1 + d] + w1) + pressure) + four_thirds * viscous * w1 + artificial * x[1 + d];
  y[1 + d2] = a * (v1 * x[1 + d2] + v2 * w1) + viscous * w2 + artificial * x[1 + d2];
  y[1 + d3] = a * (v1 * x[1 + d3] + v3 * w1) + viscous * w3 + artificial * x[1 + d3];
  y[4] = a * (enthalpy * w1 + v1 * (x[4] + pressure)) +
         viscous * ((four_thirds - c15) * v1 * w1 + (1 - c15) * (v2 * w2 + v3 * w3) +
                    c15 * (x[4] - f.energy * x[0])) +
         artificial * x[4];
  return y;
}

}  // namespace roundtrip::npb::cfd
