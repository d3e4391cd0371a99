#pragma once

#include <vector>

#include "npb/common/comm.hpp"
#include "npb/ft/fft.hpp"
#include "npb/ft/field.hpp"

namespace roundtrip::npb::ft {

/// The factor of a point of the spectrum is the product of one factor for each direction.
struct Damping {
  std::vector<double> x;
  std::vector<double> y;  ///< of this rank's y
  std::vector<double> z;
};

/// NPB's operations for each point of the field: random number; forward transform, times ln of the
/// number of points; damping and checksum; inverse transform, times ln of the number of points.
/// ln (nx ny nz) is the sum over the directions; 7.21 ln n is the 5 log2 n of an FFT along one.
inline constexpr double per_number = 14.8157;
inline constexpr double per_log_of_first = 7.19641;
inline constexpr double per_damping = 5.23518;
inline constexpr double per_log = 7.21113;

/// Transforms of a field that is distributed over all ranks.
class Transform {
 public:
  Transform(Comm& comm, const Layout& layout);

  /// Collective: `field` by planes becomes its spectrum by pencils.
  void forward(Field& field);

  /// Collective: damps `spectrum` (by pencils) and computes its `field` (by planes). Not scaled.
  void inverse(const Field& spectrum, const Damping& damping, Field& field);

 private:
  enum class Direction { forward, inverse };
  void run(Fft& fft, Direction direction) const;
  void declare_work(int length, double per_log_of_length) const;
  void along_x(Field& field, Direction direction);
  void along_y(Field& field, Direction direction);
  void along_z(Field& field);
  void damped_along_z(const Field& spectrum, const Damping& damping, Field& field);
  void transpose(Field& field);

  Comm& comm_;
  Layout layout_;
  Fft x_;
  Fft y_;
  Fft z_;
  Field other_;  ///< receive buffer of a transpose
};

}  // namespace roundtrip::npb::ft
