#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::bt {

/// BT: the simulated application by an alternating-direction scheme, each direction a set of
/// block-tridiagonal systems with 5 x 5 blocks.
Entry entry();

/// The histories of the recorded classes, in history.cpp, which record_history.py makes.
const Histories& histories();

}  // namespace roundtrip::npb::bt
