#pragma once

#include "ddtbench/catalogue.hpp"

namespace roundtrip::ddtbench {

/// Medians, in seconds, of one case's pack loops, of its tuned loops (the plain ones if it has no
/// others) and of a memcpy of as many bytes between two buffers; all in cache if they fit.
struct PackSpeed {
  double pack_s = 0;
  double unpack_s = 0;
  double tuned_pack_s = 0;
  double tuned_unpack_s = 0;
  double copy_s = 0;
};

/// Measures all in turn, on this rank only, for about `seconds`.
PackSpeed measure_pack_speed(const Case& item, double seconds);

}  // namespace roundtrip::ddtbench
