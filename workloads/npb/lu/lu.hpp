#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::lu {

/// LU: the simulated application by symmetric successive over-relaxation; wavefronts of small
/// messages.
Entry entry();

}  // namespace roundtrip::npb::lu
