#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::ft {

/// FT: a diffusion equation solved by three-dimensional Fourier transforms.
Entry entry();

}  // namespace roundtrip::npb::ft
