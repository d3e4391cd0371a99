#pragma once

#include "npb/cfd/verification.hpp"

namespace roundtrip::npb::lu {

/// Parameters of a class: points in each direction, time steps, their length, published norms and
/// surface integral.
struct Parameters {
  int n;
  int steps;
  double dt;
  cfd::Norms norms;
  double surface_integral;
};

const Parameters& parameters(char problem_class);

}  // namespace roundtrip::npb::lu
