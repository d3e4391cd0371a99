#pragma once

#include "npb/cfd/verification.hpp"

namespace roundtrip::npb::lu {

/// A class: points in each direction, time steps, their length, and published results, surface
/// integral.
struct Parameters {
  int n;
  int steps;
  double dt;
  cfd::Norms norms;
  double surface_integral;
};

const Parameters& parameters(char problem_class);

}  // namespace roundtrip::npb::lu
