#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::bt {

/// BT: the simulated application, solved by an alternating-direction scheme with block-tridiagonal
/// systems (5 x 5 blocks).
Entry entry();

/// The histories of the recorded classes; record_history.py generates history.cpp.
const Histories& histories();

}  // namespace roundtrip::npb::bt
