#pragma once

#include <array>
#include <cstddef>

#include "ddtbench/array.hpp"

namespace roundtrip::ddtbench {

/// NAS LU's field u(5, 0:N+1, 0:N+1) of doubles: five values per point, the first index contiguous.
class LuField {
 public:
  static constexpr int values = 5;
  static constexpr std::size_t point_bytes = values * sizeof(double);

  explicit LuField(int n) : n_(n), data_(values * width() * width()) {}

  [[nodiscard]] int n() const { return n_; }
  [[nodiscard]] std::size_t width() const { return static_cast<std::size_t>(n_) + 2; }

  /// The five values of point (i, j).
  [[nodiscard]] double* point(int i, int j) const {
    const std::size_t index = static_cast<std::size_t>(j) * width() + static_cast<std::size_t>(i);
    return &data_[values * index];
  }

  /// Calls `visit` with each value of `n` points from `first`, `stride` values apart.
  template <class Visit>
  void each_value(double* first, std::size_t stride, Visit visit) const {
    for (int i = 0; i < n_; ++i) {
      double* point = first + static_cast<std::size_t>(i) * stride;
      for (int m = 0; m < values; ++m) visit(point[m]);
    }
  }

  /// Bytes of one face.
  [[nodiscard]] std::size_t face_bytes() const {
    return static_cast<std::size_t>(n_) * point_bytes;
  }

 private:
  int n_;
  Array<double> data_;
};

/// N of the study.
inline constexpr std::array<int, 7> lu_sizes = {12, 33, 64, 102, 162, 408, 1020};

}  // namespace roundtrip::ddtbench
