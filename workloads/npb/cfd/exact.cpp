#include "npb/cfd/exact.hpp"

namespace roundtrip::npb::cfd {
namespace {

constexpr std::size_t coefficients = 13;

/// Rows of C: 1, then xi, eta, zeta to the first, second, third and fourth power.
constexpr std::array<std::array<double, coefficients>, equations> c = {{
    {2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
}};

}  // namespace

State exact_solution(double xi, double eta, double zeta) {
  const std::array<double, 3> at{xi, eta, zeta};
  State u{};
  for (std::size_t m = 0; m < equations; ++m) {
    u[m] = c[m][0];
    for (std::size_t d = 0; d < 3; ++d) {
      const double x = at[d];
      u[m] += x * (c[m][1 + d] + x * (c[m][4 + d] + x * (c[m][7 + d] + x * c[m][10 + d])));
    }
  }
  return u;
}

}  // namespace roundtrip::npb::cfd
