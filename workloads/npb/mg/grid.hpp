#pragma once

#include <array>
#include <cstddef>

#include "npb/common/array.hpp"

namespace roundtrip::npb::mg {

/// This rank's block of a periodic grid with a layer of ghost points around it; x runs fastest.
/// Indices: 0 (ghost), 1 .. n (own), n + 1 (ghost).
class Grid {
 public:
  Grid() = default;
  /// `closed_in_x`: this block has whole lines, so that stencils fill their ghosts in x.
  /// `copies`: in each direction, the number of neighbouring ranks with the same block: more than
  /// one if a coarse level has fewer points than ranks. These ranks all do the same work.
  Grid(std::array<int, 3> own, bool closed_in_x, std::array<int, 3> copies = {1, 1, 1})
      : own_(own),
        copies_(copies),
        closed_in_x_(closed_in_x),
        data_(static_cast<std::size_t>(stride_z()) * static_cast<std::size_t>(nz() + 2)) {}

  [[nodiscard]] int nx() const { return own_[0]; }
  [[nodiscard]] int ny() const { return own_[1]; }
  [[nodiscard]] int nz() const { return own_[2]; }
  [[nodiscard]] const std::array<int, 3>& own() const { return own_; }
  [[nodiscard]] const std::array<int, 3>& copies() const { return copies_; }
  [[nodiscard]] bool closed_in_x() const { return closed_in_x_; }
  [[nodiscard]] std::ptrdiff_t stride_y() const { return nx() + 2; }
  [[nodiscard]] std::ptrdiff_t stride_z() const { return stride_y() * (ny() + 2); }

  /// The line (y, z), ghosts included.
  [[nodiscard]] double* line(int y, int z) {
    return data_.data() + stride_z() * z + stride_y() * y;
  }
  [[nodiscard]] const double* line(int y, int z) const {
    return data_.data() + stride_z() * z + stride_y() * y;
  }
  [[nodiscard]] Array<double>& data() { return data_; }

 private:
  std::array<int, 3> own_{0, 0, 0};
  std::array<int, 3> copies_{1, 1, 1};
  bool closed_in_x_ = false;
  Array<double> data_;
};

}  // namespace roundtrip::npb::mg
