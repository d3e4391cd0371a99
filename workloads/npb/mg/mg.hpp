#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::mg {

/// MG: V-cycles of a multigrid solver for a Poisson problem on a periodic cube.
Entry entry();

}  // namespace roundtrip::npb::mg
