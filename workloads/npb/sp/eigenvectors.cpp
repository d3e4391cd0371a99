#include "npb/sp/eigenvectors.hpp"

#include <cmath>
#include <numbers>

#include "npb/cfd/physics.hpp"

namespace roundtrip::npb::sp {
namespace {

constexpr double root_half = std::numbers::sqrt2 / 2;

/// The fields of a line of inner points.
struct Line {
  double* __restrict r0;
  double* __restrict r1;
  double* __restrict r2;
  double* __restrict r3;
  double* __restrict r4;
  const double* __restrict density;
  const double* __restrict inverse_density;
  const double* __restrict u;
  const double* __restrict v;
  const double* __restrict w;
  const double* __restrict kinetic;
};

template <class Visit>
void for_each_line(cfd::CellFields& f, const Visit& visit) {
  const cfd::Cell& cell = f.cell;
  const int begin = cell.inner_begin(0);
  for (int k = cell.inner_begin(2); k < cell.inner_end(2); ++k) {
    for (int j = cell.inner_begin(1); j < cell.inner_end(1); ++j) {
      const std::ptrdiff_t at = cell.at(begin, j, k);
      visit(Line{f.rhs[0].data() + at, f.rhs[1].data() + at, f.rhs[2].data() + at,
                 f.rhs[3].data() + at, f.rhs[4].data() + at, f.u[0].data() + at,
                 f.derived.inverse_density.data() + at, f.derived.velocity[0].data() + at,
                 f.derived.velocity[1].data() + at, f.derived.velocity[2].data() + at,
                 f.derived.kinetic.data() + at},
            at, cell.inner_end(0) - begin);
    }
  }
}

}  // namespace

void speed_of_sound(const cfd::CellFields& fields, cfd::Scalar& speed) {
  const cfd::Cell& cell = fields.cell;
  const int count = cell.own()[0] + 2;
  for (int k = -1; k <= cell.own()[2]; ++k) {
    for (int j = -1; j <= cell.own()[1]; ++j) {
      const std::ptrdiff_t at = cell.at(-1, j, k);
      const double* __restrict energy = fields.u[4].data() + at;
      const double* __restrict inverse = fields.derived.inverse_density.data() + at;
      const double* __restrict kinetic = fields.derived.kinetic.data() + at;
      double* __restrict to = speed.data() + at;
#pragma omp simd
      for (int i = 0; i < count; ++i) {
        to[i] = std::sqrt(cfd::c1 * cfd::c2 * (energy[i] * inverse[i] - kinetic[i]));
      }
    }
  }
}

void to_characteristics_of_x(cfd::CellFields& fields, const cfd::Scalar& speed) {
  for_each_line(fields, [&](const Line& l, std::ptrdiff_t at, int count) {
    const double* __restrict sound = speed.data() + at;
#pragma omp simd
    for (int i = 0; i < count; ++i) {
      const double pressure = cfd::c2 * (l.kinetic[i] * l.r0[i] - l.u[i] * l.r1[i] -
                                         l.v[i] * l.r2[i] - l.w[i] * l.r3[i] + l.r4[i]);
      const double scaled = root_half * l.inverse_density[i];
      const double flow = scaled * (l.u[i] * l.r0[i] - l.r1[i]);
      const double t = pressure / (sound[i] * sound[i]);
      const double wave = scaled * sound[i] * t;
      l.r1[i] = l.inverse_density[i] * (l.r3[i] - l.w[i] * l.r0[i]);
      l.r2[i] = l.inverse_density[i] * (l.v[i] * l.r0[i] - l.r2[i]);
      l.r0[i] -= t;
      l.r3[i] = wave - flow;
      l.r4[i] = wave + flow;
    }
  });
}

void from_x_to_y(cfd::CellFields& fields) {
  for_each_line(fields, [](const Line& l, std::ptrdiff_t, int count) {
#pragma omp simd
    for (int i = 0; i < count; ++i) {
      const double t = root_half * l.r2[i];
      const double mean = 0.5 * (l.r3[i] + l.r4[i]);
      const double r0 = l.r0[i];
      l.r0[i] = -l.r1[i];
      l.r1[i] = r0;
      l.r2[i] = root_half * (l.r3[i] - l.r4[i]);
      l.r3[i] = mean - t;
      l.r4[i] = mean + t;
    }
  });
}

void from_y_to_z(cfd::CellFields& fields) {
  for_each_line(fields, [](const Line& l, std::ptrdiff_t, int count) {
#pragma omp simd
    for (int i = 0; i < count; ++i) {
      const double t = root_half * l.r0[i];
      const double mean = 0.5 * (l.r3[i] + l.r4[i]);
      const double r1 = l.r1[i];
      l.r0[i] = root_half * (l.r3[i] - l.r4[i]);
      l.r1[i] = -l.r2[i];
      l.r2[i] = r1;
      l.r3[i] = mean - t;
      l.r4[i] = mean + t;
    }
  });
}

void from_characteristics_of_z(cfd::CellFields& fields, const cfd::Scalar& speed) {
  for_each_line(fields, [&](const Line& l, std::ptrdiff_t at, int count) {
    const double* __restrict sound = speed.data() + at;
#pragma omp simd
    for (int i = 0; i < count; ++i) {
      const double density = l.density[i];
      const double scaled = root_half * density;
      const double t1 = scaled / sound[i] * (l.r3[i] + l.r4[i]);
      const double mass = l.r2[i] + t1;
      const double wave = scaled * (l.r3[i] - l.r4[i]);
      const double r0 = l.r0[i];
      const double r1 = l.r1[i];
      l.r0[i] = mass;
      l.r1[i] = l.u[i] * mass - density * r1;
      l.r2[i] = l.v[i] * mass + density * r0;
      l.r3[i] = l.w[i] * mass + wave;
      l.r4[i] = density * (l.v[i] * r0 - l.u[i] * r1) + l.kinetic[i] * mass +
                sound[i] * sound[i] * t1 / cfd::c2 + l.w[i] * wave;
    }
  });
}

}  // namespace roundtrip::npb::sp
