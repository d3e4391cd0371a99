#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace roundtrip::npb::cfd {

// Constants of the simulated application (RNR-94-007, section 4.2).
inline constexpr double c1 = 1.4;
inline constexpr double c2 = 0.4;
inline constexpr double c34 = 0.1;          ///< c3 c4: viscosity
inline constexpr double c15 = 1.96;         ///< c1 c5
inline constexpr double c1345 = c15 * c34;  ///< heat conduction
inline constexpr double four_thirds = 4.0 / 3;
inline constexpr double fourth_dissipation = 0.25;  ///< epsilon

/// Second-order artificial dissipation, the same for all five equations.
inline constexpr std::array<double, 3> dissipation = {0.75, 0.75, 1.0};

/// Factors of differences on a grid with n points in each direction.
struct Spacing {
  double second;  ///< of a second difference: 1 / h^2
  double first;   ///< of a central difference: 1 / (2 h)

  explicit Spacing(int n)
      : second(static_cast<double>(n - 1) * (n - 1)), first(static_cast<double>(n - 1) / 2) {}
};

}  // namespace roundtrip::npb::cfd
