#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::ep {

/// EP, "embarrassingly parallel": 2^m pairs of Gaussian deviates, tallied in square annuli.
Entry entry();

/// The histories of the recorded classes; record_history.py generates history.cpp.
const Histories& histories();

}  // namespace roundtrip::npb::ep
