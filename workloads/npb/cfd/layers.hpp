#pragma once

#include <vector>

#include "npb/cfd/cell.hpp"

namespace roundtrip::npb::cfd {

/// Appends the points with index begin .. end - 1 in direction d and own indices in the others.
void pack(const Cell& cell, const Vector& v, std::size_t d, int begin, int end,
          std::vector<double>& buffer);

/// Reads these points from `from`; returns the end of the values read.
const double* unpack(const double* from, const Cell& cell, Vector& v, std::size_t d, int begin,
                     int end);

/// Number of values in a layer of `thickness` points in direction d.
std::size_t layer_size(const Cell& cell, std::size_t d, int thickness);

}  // namespace roundtrip::npb::cfd
