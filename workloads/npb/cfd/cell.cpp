#include "npb/cfd/cell.hpp"

namespace roundtrip::npb::cfd {

Cell::Cell(int n, std::array<int, 3> origin, std::array<int, 3> own)
    : n_(n), origin_(origin), own_(own), strides_{1, own[0] + 2 * ghosts, 0} {
  strides_[2] = strides_[1] * (own[1] + 2 * ghosts);
  size_ = static_cast<std::size_t>(strides_[2] * (own[2] + 2 * ghosts));
}

Vector Cell::vector(double value) const {
  Vector v;
  for (Scalar& component : v) component = scalar(value);
  return v;
}

State Cell::exact(int i, int j, int k) const {
  return exact_solution(position(0, i), position(1, j), position(2, k));
}

}  // namespace roundtrip::npb::cfd
