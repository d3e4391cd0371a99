#include "npb/mg/multigrid.hpp"

#include <algorithm>
#include <cmath>

#include "npb/mg/charges.hpp"

namespace roundtrip::npb::mg {
namespace {

constexpr Stencil laplacian{-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};

/// CPU time of each operator for a point of its result, relative to the residual; measured: class A
/// on one rank, g++ 12.
struct Weights {
  double residual = 1;
  double smooth = 0.95;
  double restrict_to = 3.2;
  double interpolate = 0.4;
};
constexpr Weights weights;

/// Weight of the residual on the finest level, n^3 points.
double weight_of_residual(int n) {
  return weights.residual * std::pow(n, 3);
}

/// Weight of a cycle and the residual after it, on levels up to n^3 points.
double weight_of_cycle(int n) {
  double weight = weight_of_residual(n);
  for (int side = 2; side <= n; side *= 2) {
    const double points = std::pow(side, 3);
    weight += weights.smooth * points;
    if (side < n) weight += weights.restrict_to * points;
    if (side > 2) weight += (weights.interpolate + weights.residual) * points;
  }
  return weight;
}

}  // namespace

Multigrid::Multigrid(Comm& comm, int n, const Stencil& smoother, double operations, int cycles)
    : comm_(comm),
      halo_(comm),
      n_(n),
      smoother_(smoother),
      work_per_weight_(operations / (cycles * weight_of_cycle(n) + weight_of_residual(n))) {
  for (int points = 2; points <= n; points *= 2) {
    std::array<int, 3> own{};
    std::array<int, 3> copies{};
    for (std::size_t d = 0; d < 3; ++d) {
      own[d] = std::max(1, points / halo_.ranks()[d]);
      copies[d] = std::max(1, halo_.ranks()[d] / points);
    }
    u_.emplace_back(own, halo_.ranks()[0] == 1, copies);
    r_.emplace_back(own, halo_.ranks()[0] == 1, copies);
  }
  v_ = Grid(u_.back().own(), false);
}

void Multigrid::reset() {
  std::ranges::fill(u_.back().data(), 0);
  place_charges(comm_, halo_, n_, v_);
}

void Multigrid::declare_work(double weight, const Grid& grid) const {
  Comm::work(work_per_weight_ * weight * grid.nx() * grid.ny() * grid.nz());
}

void Multigrid::residual_with_ghosts(std::size_t level, const Grid& right) {
  residual(laplacian, u_[level], right, r_[level]);
  declare_work(weights.residual, r_[level]);
  halo_.fill(r_[level]);
}

void Multigrid::smooth_with_ghosts(std::size_t level) {
  smooth(smoother_, r_[level], u_[level]);
  declare_work(weights.smooth, u_[level]);
  halo_.fill(u_[level]);
}

double Multigrid::update_residual() {
  double squares = 0;
  residual(laplacian, u_.back(), v_, r_.back(), &squares);
  declare_work(weights.residual, r_.back());
  halo_.fill(r_.back());
  return squares;
}

void Multigrid::cycle() {
  const std::size_t finest = u_.size() - 1;
  for (std::size_t level = finest; level > 0; --level) {
    restrict_to(r_[level], r_[level - 1]);
    declare_work(weights.restrict_to, r_[level - 1]);
    halo_.share(r_[level], r_[level - 1]);
    halo_.fill(r_[level - 1]);
  }
  std::ranges::fill(u_[0].data(), 0);
  smooth_with_ghosts(0);
  for (std::size_t level = 1; level < finest; ++level) {
    std::ranges::fill(u_[level].data(), 0);
    interpolate(u_[level - 1], u_[level], halo_.shift(u_[level], u_[level - 1]));
    declare_work(weights.interpolate, u_[level]);
    residual_with_ghosts(level, r_[level]);
    smooth_with_ghosts(level);
  }
  interpolate(u_[finest - 1], u_[finest], halo_.shift(u_[finest], u_[finest - 1]));
  declare_work(weights.interpolate, u_[finest]);
  residual_with_ghosts(finest, v_);
  smooth_with_ghosts(finest);
}

double Multigrid::residual_norm() {
  const Grid& r = r_.back();
  double sum = 0;
  for (int z = 1; z <= r.nz(); ++z) {
    for (int y = 1; y <= r.ny(); ++y) {
      const double* line = r.line(y, z);
#pragma omp simd reduction(+ : sum)
      for (int x = 1; x <= r.nx(); ++x) sum += line[x] * line[x];
    }
  }
  return std::sqrt(comm_.sum(sum) / std::pow(n_, 3));
}

}  // namespace roundtrip::npb::mg
