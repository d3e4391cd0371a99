#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::sp {

/// SP: the simulated application by an alternating-direction scheme, each direction diagonalised
/// into scalar pentadiagonal systems.
Entry entry();

/// The histories of the recorded classes, in history.cpp, which record_history.py makes.
const Histories& histories();

}  // namespace roundtrip::npb::sp
