#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::lu {

/// LU: the simulated application, solved by symmetric successive over-relaxation (SSOR) with
/// wavefronts of small messages.
Entry entry();

/// The histories of the recorded classes; record_history.py generates history.cpp.
const Histories& histories();

}  // namespace roundtrip::npb::lu
