#pragma once

#include <optional>
#include <vector>

#include "npb/cfd/cell.hpp"
#include "npb/cfd/layers.hpp"
#include "npb/common/comm.hpp"

namespace roundtrip::npb::lu {

/// Numbers of ranks in x and y: closest to a square, x <= y.
std::array<int, 2> rank_grid(int ranks);

/// The grid cut into pencils along z, one for each rank, and the messages between them.
class Pencils {
 public:
  Pencils(Comm& comm, int n);

  [[nodiscard]] const cfd::Cell& cell() const { return cell_; }

  /// Collective: fills the ghosts of `v` in x and y, in each direction first upwards, then
  /// downwards.
  void fill_ghosts(cfd::Vector& v);

  /// One stage of a wavefront that runs upwards (step +1) or downwards (-1) in x and y:
  /// receive_front() gets the ghosts of plane k where the front enters, send_front() sends the own
  /// points where it leaves.
  void receive_front(cfd::Vector& v, int k, int step);
  void send_front(const cfd::Vector& v, int k, int step);

 private:
  void shift_layers(cfd::Vector& v, std::size_t d, int step);
  /// The neighbour `step` away in direction d; empty beyond the boundary of the grid.
  [[nodiscard]] std::optional<int> neighbour(std::size_t d, int step) const;
  static cfd::Cell make_cell(int n, std::array<int, 2> ranks, std::array<int, 2> position);

  Comm& comm_;
  std::array<int, 2> ranks_;
  std::array<int, 2> position_;
  cfd::Cell cell_;
  std::vector<double> buffer_;
  std::vector<double> out_;
  std::vector<double> in_;
};

}  // namespace roundtrip::npb::lu
