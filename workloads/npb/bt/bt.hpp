#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::bt {

/// BT: the simulated application by an alternating-direction scheme, each direction a set of
/// block-tridiagonal systems with 5 x 5 blocks.
Entry entry();

/// Of the classes that were recorded: history.cpp, made by record_history.py.
const Histories& histories();

}  // namespace roundtrip::npb::bt
