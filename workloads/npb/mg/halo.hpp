#pragma once

#include <array>
#include <vector>

#include "npb/common/comm.hpp"
#include "npb/mg/grid.hpp"

namespace roundtrip::npb::mg {

/// The ranks as a periodic box; fills the ghost layers of a grid from the neighbours' own points.
class Halo {
 public:
  explicit Halo(Comm& comm);

  [[nodiscard]] const std::array<int, 3>& ranks() const { return ranks_; }
  [[nodiscard]] const std::array<int, 3>& position() const { return position_; }

  /// Collective. Fills x, then y, then z. Each layer includes the ghosts filled before it, so that
  /// edges and corners are correct. Lines that are closed in x already have their ghosts in x.
  void fill(Grid& grid);

  /// For each direction: 1 if this rank's only point of `fine` is also a point of the next coarser
  /// level, else 0. It can be 1 only if every rank has one point in that direction on both levels.
  [[nodiscard]] std::array<int, 3> shift(const Grid& fine, const Grid& coarse) const;

  /// Collective, after a restriction: a rank whose point of `fine` is not a point of the coarser
  /// level receives the coarse block from the next rank.
  void share(const Grid& fine, Grid& coarse);

 private:
  void fill_direction(Grid& grid, int direction);
  /// The rank at distance `step` in a direction, periodic.
  [[nodiscard]] int neighbour(std::size_t direction, int step) const;

  Comm& comm_;
  std::array<int, 3> ranks_{1, 1, 1};
  std::array<int, 3> position_{0, 0, 0};
  std::vector<double> out_;
  std::vector<double> in_;
};

}  // namespace roundtrip::npb::mg
