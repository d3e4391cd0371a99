#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::ft {

/// FT: a diffusion equation solved by three-dimensional Fourier transforms.
Entry entry();

/// The histories of the recorded classes; record_history.py generates history.cpp.
const Histories& histories();

}  // namespace roundtrip::npb::ft
