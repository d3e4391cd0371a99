#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::mg {

/// MG: V-cycles of a multigrid solver for a Poisson problem on a periodic cube.
Entry entry();

/// Of the classes that were recorded: history.cpp, made by record_history.py.
const Histories& histories();

}  // namespace roundtrip::npb::mg
