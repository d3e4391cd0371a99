#pragma once

#include <array>
#include <cstddef>

#include "npb/cfd/exact.hpp"
#include "npb/common/array.hpp"

namespace roundtrip::npb::cfd {

/// Number of layers of ghost points around a cell; fourth differences need two.
inline constexpr int ghosts = 2;

/// A number at each point of a cell.
using Scalar = Array<double>;

/// Five numbers at each point of a cell.
using Vector = std::array<Scalar, equations>;

/// A box of points of the n^3 grid, and its layout in memory: x fastest, with ghosts.
class Cell {
 public:
  /// `origin`: the first own point in the grid; `own`: number of own points.
  Cell(int n, std::array<int, 3> origin, std::array<int, 3> own);

  [[nodiscard]] int n() const { return n_; }
  [[nodiscard]] const std::array<int, 3>& origin() const { return origin_; }
  [[nodiscard]] const std::array<int, 3>& own() const { return own_; }

  /// Own points that are not on the boundary of the grid: inner_begin(d) .. inner_end(d).
  [[nodiscard]] int inner_begin(std::size_t d) const { return origin_[d] == 0 ? 1 : 0; }
  [[nodiscard]] int inner_end(std::size_t d) const {
    return origin_[d] + own_[d] == n_ ? own_[d] - 1 : own_[d];
  }

  [[nodiscard]] double inner(std::size_t d) const { return inner_end(d) - inner_begin(d); }
  [[nodiscard]] double inner_points() const { return inner(0) * inner(1) * inner(2); }

  /// Distance in memory between neighbours in direction d.
  [[nodiscard]] std::ptrdiff_t stride(std::size_t d) const { return strides_[d]; }

  /// Offset of a point in memory; own points count from 0, ghosts are -2, -1, own, own + 1.
  [[nodiscard]] std::ptrdiff_t at(int i, int j, int k) const {
    return (i + ghosts) + strides_[1] * (j + ghosts) + strides_[2] * (k + ghosts);
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] Scalar scalar(double value) const {
    Scalar filled(size_, value);
    return filled;
  }
  [[nodiscard]] Vector vector(double value) const;

  /// The exact solution at an own or ghost point.
  [[nodiscard]] State exact(int i, int j, int k) const;

  /// Position of a point in the unit cube, one direction.
  [[nodiscard]] double position(std::size_t d, int i) const {
    return static_cast<double>(origin_[d] + i) / (n_ - 1);
  }

 private:
  int n_;
  std::array<int, 3> origin_;
  std::array<int, 3> own_;
  std::array<std::ptrdiff_t, 3> strides_;
  std::size_t size_;
};

/// First point of part `part` when n points are divided into `parts` of nearly equal size.
constexpr int part_begin(int n, int parts, int part) {
  return static_cast<int>(static_cast<long long>(n) * part / parts);
}

}  // namespace roundtrip::npb::cfd
