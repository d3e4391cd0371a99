#pragma once

#include <algorithm>
#include <vector>

#include "npb/cfd/cell.hpp"
#include "npb/cfd/lanes.hpp"

namespace roundtrip::npb::cfd {

/// Up to `lanes` adjacent lines of inner points in one direction. Unused lanes are loaded from
/// adjacent memory and never stored.
struct Bundle {
  std::ptrdiff_t at;     ///< offset of the first inner point of the first lane
  std::ptrdiff_t step;   ///< distance from a point to the next
  std::ptrdiff_t apart;  ///< distance from a lane to the next
  int length;            ///< number of points
  int count;             ///< number of lanes
  int first;             ///< index of the first point in the whole grid
};

/// Reads the first `count` lanes of each Lanes in `lanes_of`; leaves the other lanes unchanged.
/// Returns the end of the values read.
template <class T>
const double* get_lines(const double* from, int count, T& lanes_of) {
  auto* const to = reinterpret_cast<double*>(&lanes_of);
  for (std::size_t i = 0; i < sizeof(T) / sizeof(double); i += lanes, from += count) {
    std::copy_n(from, count, to + i);
  }
  return from;
}

/// Writes the first `count` lanes of each Lanes to `to`. Returns the end of the values written.
template <class T>
double* put_lines(const T& lanes_of, int count, double* to) {
  const auto* const from = reinterpret_cast<const double*>(&lanes_of);
  for (std::size_t i = 0; i < sizeof(T) / sizeof(double); i += lanes, to += count) {
    std::copy_n(from + i, count, to);
  }
  return to;
}

/// All inner lines of a cell in direction d. Lanes are adjacent in x, or in y if d is x.
inline std::vector<Bundle> bundles_of(const Cell& cell, std::size_t d) {
  const std::size_t across = d == 0 ? 1 : 0;
  const std::size_t third = 3 - d - across;
  std::vector<Bundle> bundles;
  for (int t = cell.inner_begin(third); t < cell.inner_end(third); ++t) {
    for (int a = cell.inner_begin(across); a < cell.inner_end(across);
         a += static_cast<int>(lanes)) {
      std::array<int, 3> point{};
      point[d] = cell.inner_begin(d);
      point[across] = a;
      point[third] = t;
      bundles.push_back({.at = cell.at(point[0], point[1], point[2]),
                         .step = cell.stride(d),
                         .apart = cell.stride(across),
                         .length = cell.inner_end(d) - cell.inner_begin(d),
                         .count = std::min(static_cast<int>(lanes), cell.inner_end(across) - a),
                         .first = cell.origin()[d] + cell.inner_begin(d)});
    }
  }
  return bundles;
}

}  // namespace roundtrip::npb::cfd
