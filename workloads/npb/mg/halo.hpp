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

  /// Collective. x, then y, then z, each layer with the ghosts it has by then: edges and corners
  /// are right, too. Lines that are closed in x already have their ghosts in x.
  void fill(Grid& grid);

  /// In each direction, 1 if this rank's only point of `fine` is one that the next coarser level
  /// has too, else 0. Only where every rank of both levels has one point in that direction.
  [[nodiscard]] std::array<int, 3> shift(const Grid& fine, const Grid& coarse) const;

  /// Collective, after a restriction: ranks whose point of `fine` the coarser level has not get
  /// their copy of the coarse block from the next rank, which has it.
  void share(const Grid& fine, Grid& coarse);

 private:
  void fill_direction(Grid& grid, int direction);
  /// The rank that is `step` places away in a direction, periodically.
  [[nodiscard]] int neighbour(std::size_t direction, int step) const;

  Comm& comm_;
  std::array<int, 3> ranks_{1, 1, 1};
  std::array<int, 3> position_{0, 0, 0};
  std::vector<double> out_;
  std::vector<double> in_;
};

}  // namespace roundtrip::npb::mg
