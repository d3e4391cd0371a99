#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::mg {

/// MG: V-cycles of a multigrid solver for a Poisson problem on a periodic cube.
Entry entry();

/// The histories of the recorded classes; record_history.py generates history.cpp.
const Histories& histories();

}  // namespace roundtrip::npb::mg
