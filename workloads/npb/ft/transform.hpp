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

/// Transforms of a field that is spread over all ranks.
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
  Field other_;  ///< the receiving side of a transpose
};

}  // namespace roundtrip::npb::ft
