#pragma once

#include <vector>

#include "npb/cfd/cell.hpp"
#include "npb/common/comm.hpp"

namespace roundtrip::npb::cfd {

/// The grid, cut into q^3 cells for q^2 ranks. In each direction, every layer of cells has one cell
/// of each rank (Bruno and Cappello's multi-partition scheme, NAS-95-020), so that all ranks are
/// busy in every stage of a line solution. Rank (a, b) has the cells (a + c, b + c, c), c < q,
/// modulo q.
class MultiPartition {
 public:
  /// `comm` has q^2 ranks.
  MultiPartition(Comm& comm, int n);

  [[nodiscard]] int side() const { return side_; }
  [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }
  [[nodiscard]] Comm& comm() const { return comm_; }

  /// Index of this rank's cell in layer `stage` of direction d.
  [[nodiscard]] std::size_t cell_of(std::size_t d, int stage) const;

  /// The rank of the neighbours, `step` away in direction d, of all cells of this rank.
  [[nodiscard]] int neighbour(std::size_t d, int step) const;

  /// Collective: fills the ghosts of one field of each cell.
  void fill_ghosts(const std::vector<Vector*>& fields);

 private:
  /// Packs layers into out_, in the order of the cells that receive them; no layer crosses the
  /// boundary of the grid. Returns the number of values that the neighbour sends.
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
