#include "npb/cfd/residual.hpp"

#include <algorithm>

#include "npb/cfd/initial.hpp"
#include "npb/cfd/physics.hpp"

namespace roundtrip::npb::cfd {
namespace {

/// Pointers to the same point of all fields.
struct Point {
  std::array<const double*, equations> u;
  std::array<const double*, 3> velocity;
  const double* inverse_density;
  const double* kinetic;
  std::array<double*, equations> rhs;
};

/// Adds the terms of direction `d`, without fourth-order dissipation, to `count` adjacent points.
/// `s` is the distance in memory between neighbours in that direction.
template <std::size_t d>
void add_fluxes(const Point& p, std::ptrdiff_t s, int count, const Spacing& spacing) {
  constexpr std::size_t d2 = (d + 1) % 3;
  constexpr std::size_t d3 = (d + 2) % 3;
  const double tx2 = spacing.first;
  const double artificial = dissipation[d] * spacing.second;
  const double viscous = c34 * spacing.second;
  const double* __restrict rho = p.u[0];
  const double* __restrict m1 = p.u[1 + d];
  const double* __restrict m2 = p.u[1 + d2];
  const double* __restrict m3 = p.u[1 + d3];
  const double* __restrict energy = p.u[4];
  const double* __restrict v1 = p.velocity[d];
  const double* __restrict v2 = p.velocity[d2];
  const double* __restrict v3 = p.velocity[d3];
  const double* __restrict inv = p.inverse_density;
  const double* __restrict kin = p.kinetic;
  double* __restrict r0 = p.rhs[0];
  double* __restrict r1 = p.rhs[1 + d];
  double* __restrict r2 = p.rhs[1 + d2];
  double* __restrict r3 = p.rhs[1 + d3];
  double* __restrict r4 = p.rhs[4];
  const auto second = [s](const double* f, std::ptrdiff_t i) {
    return f[i + s] - 2 * f[i] + f[i - s];
  };
#pragma omp simd
  for (int x = 0; x < count; ++x) {
    const std::ptrdiff_t i = x;
    const std::ptrdiff_t a = i + s;
    const std::ptrdiff_t b = i - s;
    const double pressure_a = c2 * (energy[a] - kin[a] * rho[a]);
    const double pressure_b = c2 * (energy[b] - kin[b] * rho[b]);
    r0[i] += artificial * second(rho, i) - tx2 * (m1[a] - m1[b]);
    r1[i] += artificial * second(m1, i) + four_thirds * viscous * second(v1, i) -
             tx2 * (m1[a] * v1[a] - m1[b] * v1[b] + pressure_a - pressure_b);
    r2[i] += artificial * second(m2, i) + viscous * second(v2, i) -
             tx2 * (m2[a] * v1[a] - m2[b] * v1[b]);
    r3[i] += artificial * second(m3, i) + viscous * second(v3, i) -
             tx2 * (m3[a] * v1[a] - m3[b] * v1[b]);
    const double square = v1[a] * v1[a] - 2 * v1[i] * v1[i] + v1[b] * v1[b];
    const double heat = energy[a] * inv[a] - 2 * energy[i] * inv[i] + energy[b] * inv[b];
    r4[i] += artificial * second(energy, i) +
             viscous * ((1 - c15) * second(kin, i) + square / 6 + c15 * heat) -
             tx2 * ((energy[a] + pressure_a) * v1[a] - (energy[b] + pressure_b) * v1[b]);
  }
}

/// Fourth difference at point g of n: one-sided next to the boundary.
std::array<double, 5> fourth_difference(int g, int n) {
  std::array<double, 5> w{1, -4, 6, -4, 1};
  if (g == 1) w = {0, 0, 5, -4, 1};
  if (g == 2) w = {0, -4, 6, -4, 1};
  if (g == n - 3) w = {1, -4, 6, -4, 0};
  if (g == n - 2) w = {1, -4, 5, 0, 0};
  return w;
}

/// Subtracts fourth-order dissipation of one direction from `count` adjacent points.
void damp(const Point& p, std::ptrdiff_t s, int first, int count,
          const std::array<double, 5>& weights) {
  for (std::size_t m = 0; m < equations; ++m) {
    const double* __restrict u = p.u[m] + first;
    double* __restrict r = p.rhs[m] + first;
    for (int i = 0; i < count; ++i) {
      const double* at = u + i;
      r[i] -=
          fourth_dissipation * (weights[0] * at[-2 * s] + weights[1] * at[-s] + weights[2] * at[0] +
                                weights[3] * at[s] + weights[4] * at[2 * s]);
    }
  }
}

/// damp() along x, where the weights change within the line.
void damp_along_x(const Cell& cell, const Point& p, int begin, int count) {
  const int origin = cell.origin()[0] + begin;
  int at = 0;
  while (at < count) {
    const int g = origin + at;
    const bool plain = g >= 3 && g < cell.n() - 3;
    const int length = plain ? std::min(count - at, cell.n() - 3 - g) : 1;
    damp(p, 1, at, length, fourth_difference(g, cell.n()));
    at += length;
  }
}

/// Calls visit(place of the first inner point, j, k) for each line of inner points.
template <class Visit>
void for_each_line(const Cell& cell, const Visit& visit) {
  for (int k = cell.inner_begin(2); k < cell.inner_end(2); ++k) {
    for (int j = cell.inner_begin(1); j < cell.inner_end(1); ++j) {
      visit(cell.at(cell.inner_begin(0), j, k), j, k);
    }
  }
}

}  // namespace

void derive(const Cell& cell, const Vector& u, Derived& derived) {
  const int count = cell.own()[0] + 2;
  for (int k = -1; k <= cell.own()[2]; ++k) {
    for (int j = -1; j <= cell.own()[1]; ++j) {
      const std::ptrdiff_t p = cell.at(-1, j, k);
      const double* __restrict rho = u[0].data() + p;
      const double* __restrict m1 = u[1].data() + p;
      const double* __restrict m2 = u[2].data() + p;
      const double* __restrict m3 = u[3].data() + p;
      double* __restrict inverse = derived.inverse_density.data() + p;
      double* __restrict v1 = derived.velocity[0].data() + p;
      double* __restrict v2 = derived.velocity[1].data() + p;
      double* __restrict v3 = derived.velocity[2].data() + p;
      double* __restrict kinetic = derived.kinetic.data() + p;
#pragma omp simd
      for (int i = 0; i < count; ++i) {
        inverse[i] = 1 / rho[i];
        v1[i] = m1[i] * inverse[i];
        v2[i] = m2[i] * inverse[i];
        v3[i] = m3[i] * inverse[i];
        kinetic[i] = 0.5 * (v1[i] * v1[i] + v2[i] * v2[i] + v3[i] * v3[i]);
      }
    }
  }
}

void residual(const Cell& cell, const Vector& u, const Derived& derived, const Vector& forcing,
              double scale, Vector& rhs) {
  const Spacing spacing(cell.n());
  const int begin = cell.inner_begin(0);
  const int count = cell.inner_end(0) - begin;
  for_each_line(cell, [&](std::ptrdiff_t at, int j, int k) {
    Point p{};
    for (std::size_t m = 0; m < equations; ++m) {
      p.u[m] = u[m].data() + at;
      p.rhs[m] = rhs[m].data() + at;
      std::copy_n(forcing[m].data() + at, count, p.rhs[m]);
    }
    for (std::size_t d = 0; d < 3; ++d) p.velocity[d] = derived.velocity[d].data() + at;
    p.inverse_density = derived.inverse_density.data() + at;
    p.kinetic = derived.kinetic.data() + at;

    add_fluxes<0>(p, cell.stride(0), count, spacing);
    add_fluxes<1>(p, cell.stride(1), count, spacing);
    add_fluxes<2>(p, cell.stride(2), count, spacing);
    damp_along_x(cell, p, begin, count);
    damp(p, cell.stride(1), 0, count, fourth_difference(cell.origin()[1] + j, cell.n()));
    damp(p, cell.stride(2), 0, count, fourth_difference(cell.origin()[2] + k, cell.n()));
    for (double* r : p.rhs) {
      for (int i = 0; i < count; ++i) r[i] *= scale;
    }
  });
}

Vector make_forcing(const Cell& cell, Vector& u, Derived& derived) {
  set_exact(cell, u);
  derive(cell, u, derived);
  Vector forcing = cell.vector(0);
  residual(cell, u, derived, forcing, -1, forcing);
  return forcing;
}

State sum_of_squares(const Cell& cell, const Vector& v) {
  State sum{};
  const int count = cell.inner_end(0) - cell.inner_begin(0);
  for_each_line(cell, [&](std::ptrdiff_t at, int, int) {
    for (std::size_t m = 0; m < equations; ++m) {
      const double* line = v[m].data() + at;
      for (int i = 0; i < count; ++i) sum[m] += line[i] * line[i];
    }
  });
  return sum;
}

State sum_of_squared_errors(const Cell& cell, const Vector& u) {
  State sum{};
  const int begin = cell.inner_begin(0);
  for_each_line(cell, [&](std::ptrdiff_t at, int j, int k) {
    for (int i = begin; i < cell.inner_end(0); ++i) {
      const State exact = cell.exact(i, j, k);
      for (std::size_t m = 0; m < equations; ++m) {
        const double error = u[m][static_cast<std::size_t>(at + i - begin)] - exact[m];
        sum[m] += error * error;
      }
    }
  });
  return sum;
}

}  // namespace roundtrip::npb::cfd
