#include "npb/cfd/layers.hpp"

#include <algorithm>

namespace roundtrip::npb::cfd {
namespace {

/// Calls visit(offset, length) for the contiguous pieces of a layer.
template <class Visit>
void for_each_piece(const Cell& cell, std::size_t d, int begin, int end, const Visit& visit) {
  std::array<int, 3> first{0, 0, 0};
  std::array<int, 3> last = cell.own();
  first[d] = begin;
  last[d] = end;
  for (int k = first[2]; k < last[2]; ++k) {
    for (int j = first[1]; j < last[1]; ++j) visit(cell.at(first[0], j, k), last[0] - first[0]);
  }
}

}  // namespace

void pack(const Cell& cell, const Vector& v, std::size_t d, int begin, int end,
          std::vector<double>& buffer) {
  for (const Scalar& component : v) {
    for_each_piece(cell, d, begin, end, [&](std::ptrdiff_t at, int length) {
      buffer.insert(buffer.end(), component.begin() + at, component.begin() + at + length);
    });
  }
}

const double* unpack(const double* from, const Cell& cell, Vector& v, std::size_t d, int begin,
                     int end) {
  for (Scalar& component : v) {
    for_each_piece(cell, d, begin, end, [&](std::ptrdiff_t at, int length) {
      std::copy_n(from, length, component.begin() + at);
      from += length;
    });
  }
  return from;
}

std::size_t layer_size(const Cell& cell, std::size_t d, int thickness) {
  std::size_t size = equations * static_cast<std::size_t>(thickness);
  for (std::size_t other = 0; other < 3; ++other) {
    if (other != d) size *= static_cast<std::size_t>(cell.own()[other]);
  }
  return size;
}

}  // namespace roundtrip::npb::cfd
