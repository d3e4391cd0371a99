#include "npb/lu/surface.hpp"

#include "npb/cfd/physics.hpp"

namespace roundtrip::npb::lu {

double surface_integral(const cfd::Cell& cell, const cfd::Vector& u) {
  const int n = cell.n();
  const std::array<int, 3> low{1, 1, 2};
  const std::array<int, 3> high{n - 2, n - 3, n - 2};
  // Weight of a point in its direction, twice that of the trapezoidal rule; 0 outside of the box.
  const auto weight = [&](std::size_t d, int g) {
    if (g < low[d] || g > high[d]) return 0;
    return g == low[d] || g == high[d] ? 1 : 2;
  };
  double sum = 0;
  for (int k = 0; k < cell.own()[2]; ++k) {
    for (int j = 0; j < cell.own()[1]; ++j) {
      for (int i = 0; i < cell.own()[0]; ++i) {
        const std::array<int, 3> g{cell.origin()[0] + i, cell.origin()[1] + j,
                                   cell.origin()[2] + k};
        const std::array<int, 3> w{weight(0, g[0]), weight(1, g[1]), weight(2, g[2])};
        int faces = 0;
        for (std::size_t d = 0; d < 3; ++d) {
          if (w[d] == 1) faces += w[(d + 1) % 3] * w[(d + 2) % 3];
        }
        if (faces == 0) continue;
        const auto p = static_cast<std::size_t>(cell.at(i, j, k));
        const double square = u[1][p] * u[1][p] + u[2][p] * u[2][p] + u[3][p] * u[3][p];
        sum += faces * cfd::c2 * (u[4][p] - square / (2 * u[0][p]));
      }
    }
  }
  return sum / (4.0 * (n - 1) * (n - 1));
}

}  // namespace roundtrip::npb::lu
