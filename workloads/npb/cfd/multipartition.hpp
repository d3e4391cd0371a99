#pragma once

#include <vector>

#include "npb/cfd/cell.hpp"
#include "npb/common/comm.hpp"

namespace roundtrip::npb::cfd {

/// The grid cut into q^3 cells for q^2 ranks, so that in each direction every layer of cells has
/// one of each rank (Bruno and Cappello's multi-partition scheme, NAS-95-020): whatever way lines
/// are solved, all ranks are busy. Rank (a, b) has the cells (a + c, b + c, c), c < q, modulo q.
class MultiPartition {
 public:
  /// `comm`: of q^2 ranks.
  MultiPartition(Comm& comm, int n);

  [[nodiscard]] int side() const { return side_; }
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }
  [[nodiscard]] Comm& comm() const { return comm_; }

  /// The cell of this rank that lies in layer `stage` of direction d.
  [[nodiscard]] std::size_t cell_of(std::size_t d, int stage) const;

  /// The rank of the neighbours of all these cells, `step` away in direction d.
  [[nodiscard]] int neighbour(std::size_t d, int step) const;

  /// Collective: ghosts of one field of each cell.
  void fill_ghosts(const std::vector<Vector*>& fields);

 private:
  /// Layers into out_, in order of the cells that they go to; none crosses the boundary of the
  /// grid. Returns how many numbers come from the neighbour.
  std::size_t pack_layers(const std::vector<Vector*>& fields, std::size_t d, int step);
  void unpack_layers(const std::vector<Vector*>& fields, std::size_t d, int step);

  Comm& comm_;
  int side_;
  std::array<int, 2> position_;
  std::vector<Cell> cells_;
  std::vector<double> out_;
  std::vector<double> in_;
};

}  // namespace roundtrip::npb::cfd
