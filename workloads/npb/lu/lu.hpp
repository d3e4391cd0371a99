#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::lu {

/// LU: the simulated application by symmetric successive over-relaxation; wavefronts of small
/// messages.
Entry entry();

/// The histories of the recorded classes, in history.cpp, which record_history.py makes.
const Histories& histories();

}  // namespace roundtrip::npb::lu
