#include "npb/mg/stencils.hpp"

#include <array>
#include <numeric>
#include <tuple>
#include <vector>

namespace roundtrip::npb::mg {
namespace {

/// For each x of a line, sums over neighbours in the y-z plane: `near` over the 4 adjacent, `far`
/// over the 4 diagonal neighbours.
struct Ring {
  std::vector<double> near;
  std::vector<double> far;

  explicit Ring(const Grid& grid)
      : near(static_cast<std::size_t>(grid.nx() + 2)), far(near.size()) {}

  void add_up(const Grid& grid, int y, int z) {
    const double* __restrict south = grid.line(y - 1, z);
    const double* __restrict north = grid.line(y + 1, z);
    const double* __restrict below = grid.line(y, z - 1);
    const double* __restrict above = grid.line(y, z + 1);
    const std::ptrdiff_t dy = grid.stride_y();
    double* __restrict to_near = near.data();
    double* __restrict to_far = far.data();
    const int end = grid.nx() + 2;
    // GCC 12 gives up where it would have to compare so many pointers itself.
#pragma omp simd
    for (int x = 0; x < end; ++x) {
      to_near[x] = south[x] + north[x] + below[x] + above[x];
      to_far[x] = below[x - dy] + below[x + dy] + above[x - dy] + above[x + dy];
    }
  }
};

/// If lines are not divided between ranks, fills a line's ghosts in x from its other end while it
/// is in cache.
inline void close_line(double* line, const Grid& grid) {
  if (!grid.closed_in_x()) return;
  line[0] = line[grid.nx()];
  line[grid.nx() + 1] = line[1];
}

/// Independent partial sums. In a single sum, each addition would wait for the previous one.
using Sums = std::array<double, 16>;

void add_squares(const double* __restrict values, int count, Sums& sums) {
  constexpr int lanes = std::tuple_size_v<Sums>;
  double* __restrict to = sums.data();
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
#pragma omp simd
    for (int lane = 0; lane < lanes; ++lane) to[lane] += values[i + lane] * values[i + lane];
  }
  for (; i < count; ++i) to[0] += values[i] * values[i];
}

}  // namespace

void residual(const Stencil& a, const Grid& u, const Grid& v, Grid& r, double* squares) {
  Ring ring(u);
  Sums sums{};
  const double* __restrict near = ring.near.data();
  const double* __restrict far = ring.far.data();
  for (int z = 1; z <= u.nz(); ++z) {
    for (int y = 1; y <= u.ny(); ++y) {
      ring.add_up(u, y, z);
      const double* __restrict centre = u.line(y, z);
      const double* right = v.line(y, z);
      double* result = r.line(y, z);
#pragma omp simd
      for (int x = 1; x <= u.nx(); ++x) {
        result[x] = right[x] - a[0] * centre[x] - a[2] * (far[x] + near[x - 1] + near[x + 1]) -
                    a[3] * (far[x - 1] + far[x + 1]);
      }
      close_line(result, r);
      if (squares != nullptr) add_squares(result + 1, u.nx(), sums);
    }
  }
  if (squares != nullptr) *squares += std::accumulate(sums.begin(), sums.end(), 0.0);
}

void smooth(const Stencil& s, const Grid& r, Grid& u) {
  Ring ring(r);
  const double* __restrict near = ring.near.data();
  const double* __restrict far = ring.far.data();
  for (int z = 1; z <= r.nz(); ++z) {
    for (int y = 1; y <= r.ny(); ++y) {
      ring.add_up(r, y, z);
      const double* __restrict centre = r.line(y, z);
      double* __restrict result = u.line(y, z);
#pragma omp simd
      for (int x = 1; x <= r.nx(); ++x) {
        result[x] += s[0] * centre[x] + s[1] * (centre[x - 1] + centre[x + 1] + near[x]) +
                     s[2] * (far[x] + near[x - 1] + near[x + 1]);
      }
      close_line(result, u);
    }
  }
}

void restrict_to(const Grid& fine, Grid& coarse) {
  constexpr Stencil weight{0.5, 0.25, 0.125, 0.0625};
  // Coarse point i lies on fine point 2 i; if both levels have a single point, on that point.
  std::array<int, 3> back{};
  for (std::size_t d = 0; d < 3; ++d) back[d] = coarse.own()[d] == fine.own()[d] ? 1 : 0;
  Ring ring(fine);
  for (int z = 1; z <= coarse.nz(); ++z) {
    for (int y = 1; y <= coarse.ny(); ++y) {
      ring.add_up(fine, 2 * y - back[1], 2 * z - back[2]);
      const double* __restrict centre = fine.line(2 * y - back[1], 2 * z - back[2]);
      const double* __restrict near = ring.near.data();
      const double* __restrict far = ring.far.data();
      double* __restrict result = coarse.line(y, z);
      for (int x = 1; x <= coarse.nx(); ++x) {
        const int i = 2 * x - back[0];
        result[x] = weight[0] * centre[i] + weight[1] * (centre[i - 1] + centre[i + 1] + near[i]) +
                    weight[2] * (near[i - 1] + near[i + 1] + far[i]) +
                    weight[3] * (far[i - 1] + far[i + 1]);
      }
      close_line(result, coarse);
    }
  }
}

void interpolate(const Grid& coarse, Grid& fine, const std::array<int, 3>& shift) {
  std::vector<double> mean(static_cast<std::size_t>(coarse.nx() + 2));
  double* __restrict of = mean.data();
  for (int fine_z = 0; fine_z < fine.nz() + 2; ++fine_z) {
    for (int fine_y = 0; fine_y < fine.ny() + 2; ++fine_y) {
      const int y = fine_y + shift[1];
      const int z = fine_z + shift[2];
      // The fine line lies between coarse lines y / 2 and (y + 1) / 2, which are the same line if y
      // is even; likewise in z.
      const double* a = coarse.line(y / 2, z / 2);
      const double* b = coarse.line((y + 1) / 2, z / 2);
      const double* c = coarse.line(y / 2, (z + 1) / 2);
      const double* d = coarse.line((y + 1) / 2, (z + 1) / 2);
      for (int x = 0; x < coarse.nx() + 2; ++x) of[x] = 0.25 * (a[x] + b[x] + c[x] + d[x]);
      double* __restrict result = fine.line(fine_y, fine_z);
      if (coarse.nx() == fine.nx()) {
        for (int x = 0; x < fine.nx() + 2; ++x) {
          result[x] += 0.5 * (of[(x + shift[0]) / 2] + of[(x + shift[0] + 1) / 2]);
        }
        continue;
      }
      for (std::ptrdiff_t x = 0; x <= coarse.nx(); ++x) {
        result[2 * x] += of[x];
        result[2 * x + 1] += 0.5 * (of[x] + of[x + 1]);
      }
    }
  }
}

}  // namespace roundtrip::npb::mg
