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

 private:
  void fill_direction(Grid& grid, int direction);

  Comm& comm_;
  std::array<int, 3> ranks_{1, 1, 1};
  std::array<int, 3> position_{0, 0, 0};
  std::vector<double> out_;
  std::vector<double> in_;
};

}  // namespace roundtrip::npb::mg
