#pragma once

#include <vector>

#include "npb/mg/halo.hpp"
#include "npb/mg/stencils.hpp"

namespace roundtrip::npb::mg {

/// The levels of a multigrid solver for A u = v on an n^3 grid: 2^3, 4^3, ..., n^3 points.
class Multigrid {
 public:
  /// `operations`: of the initial residual and `cycles` cycles with the residuals after them.
  Multigrid(Comm& comm, int n, const Stencil& smoother, double operations, int cycles);

  /// Collective: resets the problem to u = 0.
  void reset();

  /// Collective: r = v - A u. Returns this rank's sum of r^2.
  double update_residual();

  /// Collective: a V-cycle on the residual, added to u. The residual is out of date afterwards.
  void cycle();

  /// Collective: the root mean square of r.
  [[nodiscard]] double residual_norm();

 private:
  /// r = right - A u on a level, with ghosts.
  void residual_with_ghosts(std::size_t level, const Grid& right);
  void smooth_with_ghosts(std::size_t level);
  void declare_work(double weight, const Grid& grid) const;

  Comm& comm_;
  Halo halo_;
  int n_;
  Stencil smoother_;
  double work_per_weight_;
  Grid v_;
  std::vector<Grid> u_;  ///< one grid for each level, coarsest first
  std::vector<Grid> r_;
};

}  // namespace roundtrip::npb::mg
