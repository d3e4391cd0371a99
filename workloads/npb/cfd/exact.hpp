#pragma once

#include <array>

namespace roundtrip::npb::cfd {

/// Density, three momenta, energy.
inline constexpr std::size_t equations = 5;
using State = std::array<double, equations>;

/// The steady solution of the forced equations at a point of the unit cube (RNR-94-007, equation
/// 4.6: polynomials of degree four).
State exact_solution(double xi, double eta, double zeta);

}  // namespace roundtrip::npb::cfd
