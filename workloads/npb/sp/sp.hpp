#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::sp {

/// SP: the simulated application by an alternating-direction scheme, each direction diagonalised
/// into scalar pentadiagonal systems.
Entry entry();

/// Of the classes that were recorded: history.cpp, made by record_history.py.
const Histories& histories();

}  // namespace roundtrip::npb::sp
