#pragma once

#include "ddtbench/catalogue.hpp"

namespace roundtrip::ddtbench {

/// Medians of one case's pack loops, of its tuned ones (as `plain` where there are none) and of
/// memcpy of as many bytes between two buffers, all in cache where they fit; seconds.
struct PackSpeed {
  double pack_s = 0;
  double unpack_s = 0;
  double tuned_pack_s = 0;
  double tuned_unpack_s = 0;
  double copy_s = 0;
};

/// Measures on this rank alone, all in turn, for about `seconds`.
PackSpeed measure_pack_speed(const Case& item, double seconds);

}  // namespace roundtrip::ddtbench
