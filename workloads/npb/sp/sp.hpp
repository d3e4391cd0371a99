#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::sp {

/// SP: the simulated application by an alternating-direction scheme, each direction diagonalised
/// into scalar pentadiagonal systems.
Entry entry();

}  // namespace roundtrip::npb::sp
