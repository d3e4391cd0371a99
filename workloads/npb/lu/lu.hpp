#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::lu {

/// LU: the simulated application by symmetric successive over-relaxation; wavefronts of small
/// messages.
Entry entry();

/// Of the classes that were recorded: history.cpp, made by record_history.py.
const Histories& histories();

}  // namespace roundtrip::npb::lu
