#pragma once

#include "npb/cfd/verification.hpp"

namespace roundtrip::npb::bt {

/// Parameters of a class: points in each direction, time steps, their length, published norms.
struct Parameters {
  int n;
  int steps;
  double dt;
  cfd::Norms norms;
};

const Parameters& parameters(char problem_class);

}  // namespace roundtrip::npb::bt
