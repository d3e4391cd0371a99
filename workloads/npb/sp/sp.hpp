#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::sp {

/// SP: the simulated application, solved by an alternating-direction scheme with directions
/// diagonalised into scalar pentadiagonal systems.
Entry entry();

/// The histories of the recorded classes; record_history.py generates history.cpp.
const Histories& histories();

}  // namespace roundtrip::npb::sp
