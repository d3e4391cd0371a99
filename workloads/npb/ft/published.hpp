#pragma once

#include <complex>
#include <vector>

#include "npb/ft/field.hpp"

namespace roundtrip::npb::ft {

struct Parameters {
  Extent extent;
  std::vector<std::complex<double>> checksums;  ///< published, one per iteration

  [[nodiscard]] int iterations() const { return static_cast<int>(checksums.size()); }
};

const Parameters& parameters(char problem_class);

}  // namespace roundtrip::npb::ft
