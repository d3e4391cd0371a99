#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::ep {

/// EP, "embarrassingly parallel": 2^m pairs of Gaussian deviates, tallied in square annuli.
Entry entry();

}  // namespace roundtrip::npb::ep
