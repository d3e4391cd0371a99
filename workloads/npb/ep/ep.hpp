#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::ep {

/// EP, "embarrassingly parallel": 2^m pairs of Gaussian deviates, tallied in square annuli.
Entry entry();

/// Of the classes that were recorded: history.cpp, made by record_history.py.
const Histories& histories();

}  // namespace roundtrip::npb::ep
