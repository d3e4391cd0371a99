#include "npb/cfd/initial.hpp"

#include <algorithm>

namespace roundtrip::npb::cfd {
namespace {

State interpolated(const Cell& cell, int i, int j, int k) {
  const double xi = cell.position(0, i);
  const double eta = cell.position(1, j);
  const double zeta = cell.position(2, k);
  const auto between = [](double x, const State& at0, const State& at1, std::size_t m) {
    return (1 - x) * at0[m] + x * at1[m];
  };
  const State x0 = exact_solution(0, eta, zeta);
  const State x1 = exact_solution(1, eta, zeta);
  const State y0 = exact_solution(xi, 0, zeta);
  const State y1 = exact_solution(xi, 1, zeta);
  const State z0 = exact_solution(xi, eta, 0);
  const State z1 = exact_solution(xi, eta, 1);
  State u{};
  for (std::size_t m = 0; m < equations; ++m) {
    const double px = between(xi, x0, x1, m);
    const double py = between(eta, y0, y1, m);
    const double pz = between(zeta, z0, z1, m);
    u[m] = px + py + pz - px * py - py * pz - pz * px + px * py * pz;
  }
  return u;
}

void put(const Cell& cell, Vector& u, int i, int j, int k, const State& state) {
  const auto p = static_cast<std::size_t>(cell.at(i, j, k));
  for (std::size_t m = 0; m < equations; ++m) u[m][p] = state[m];
}

}  // namespace

void set_initial(const Cell& cell, Vector& u) {
  for (Scalar& component : u) std::ranges::fill(component, 1);
  const auto inner = [&](std::size_t d, int i) {
    return i >= cell.inner_begin(d) && i < cell.inner_end(d);
  };
  for (int k = 0; k < cell.own()[2]; ++k) {
    for (int j = 0; j < cell.own()[1]; ++j) {
      for (int i = 0; i < cell.own()[0]; ++i) {
        const bool inside = inner(0, i) && inner(1, j) && inner(2, k);
        put(cell, u, i, j, k, inside ? interpolated(cell, i, j, k) : cell.exact(i, j, k));
      }
    }
  }
}

void set_exact(const Cell& cell, Vector& u) {
  for (Scalar& component : u) std::ranges::fill(component, 1);
  const auto in_grid = [&](std::size_t d, int i) {
    return cell.origin()[d] + i >= 0 && cell.origin()[d] + i < cell.n();
  };
  for (int k = -ghosts; k < cell.own()[2] + ghosts; ++k) {
    for (int j = -ghosts; j < cell.own()[1] + ghosts; ++j) {
      for (int i = -ghosts; i < cell.own()[0] + ghosts; ++i) {
        if (in_grid(0, i) && in_grid(1, j) && in_grid(2, k)) {
          put(cell, u, i, j, k, cell.exact(i, j, k));
        }
      }
    }
  }
}

}  // namespace roundtrip::npb::cfd
