#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::ft {

/// FT: a diffusion equation solved by three-dimensional Fourier transforms.
Entry entry();

/// Of the classes that were recorded: history.cpp, made by record_history.py.
const Histories& histories();

}  // namespace roundtrip::npb::ft
