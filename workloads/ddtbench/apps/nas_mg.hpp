#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "ddtbench/array.hpp"

namespace roundtrip::ddtbench {

/// Points of NAS MG's field in each dimension, including the layer of ghost points around it.
struct MgSize {
  int d1, d2, d3;
  [[nodiscard]] std::string text() const {
    return "D=" + std::to_string(d1) + 'x' + std::to_string(d2) + 'x' + std::to_string(d3);
  }
};

/// NAS MG's field u(0:D1-1, 0:D2-1, 0:D3-1) of doubles, the first index contiguous.
class MgField {
 public:
  explicit MgField(const MgSize& size)
      : size_(size),
        data_(row() * static_cast<std::size_t>(size.d2) * static_cast<std::size_t>(size.d3)) {}

  [[nodiscard]] const MgSize& size() const { return size_; }

  /// Distance in values between neighbours in the second and in the third dimension.
  [[nodiscard]] std::size_t row() const { return static_cast<std::size_t>(size_.d1); }
  [[nodiscard]] std::size_t plane() const { return row() * static_cast<std::size_t>(size_.d2); }

  [[nodiscard]] double* at(int i, int j, int k) const {
    return &data_[static_cast<std::size_t>(k) * plane() + static_cast<std::size_t>(j) * row() +
                  static_cast<std::size_t>(i)];
  }

 private:
  MgSize size_;
  Array<double> data_;
};

/// Bytes of a face of `a` x `b` points without its ghost points.
constexpr std::size_t mg_face_bytes(int a, int b) {
  return sizeof(double) * static_cast<std::size_t>(a - 2) * static_cast<std::size_t>(b - 2);
}

inline constexpr std::array<MgSize, 4> mg_sizes = {
    {{34, 18, 18}, {130, 66, 66}, {258, 130, 130}, {514, 258, 258}}};

}  // namespace roundtrip::ddtbench
