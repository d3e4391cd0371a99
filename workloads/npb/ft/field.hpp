#pragma once

#include <complex>
#include <cstddef>

#include "npb/common/array.hpp"

namespace roundtrip::npb::ft {

/// Points of the box; each a power of two.
struct Extent {
  int nx;
  int ny;
  int nz;
  [[nodiscard]] double points() const { return static_cast<double>(nx) * ny * nz; }
};

/// Distribution of a complex field over the ranks, in one of two layouts, x fastest in both.
/// By planes: each rank has nz / ranks planes, in memory [part of y][z][y in part][x]. In a
/// transpose, each part goes to one rank and needs no packing.
/// By pencils: each rank has ny / ranks of all y, in memory [z][y][x].
struct Layout {
  Extent extent;
  int rank;
  int ranks;

  [[nodiscard]] int planes() const { return extent.nz / ranks; }
  [[nodiscard]] int own_y() const { return extent.ny / ranks; }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(extent.nx) * static_cast<std::size_t>(extent.ny) *
           static_cast<std::size_t>(planes());
  }

  /// Start of the line (y, z) in the layout by planes; z counts from the rank's first plane.
  [[nodiscard]] std::size_t line(int y, int z) const {
    const int part = y / own_y();
    return static_cast<std::size_t>(extent.nx) *
           static_cast<std::size_t>((part * planes() + z) * own_y() + y % own_y());
  }
};

using Field = Array<std::complex<double>>;

}  // namespace roundtrip::npb::ft
