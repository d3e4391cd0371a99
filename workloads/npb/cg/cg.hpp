#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::cg {

/// CG: the smallest eigenvalue of a large sparse symmetric matrix by inverse iteration, each step a
/// conjugate-gradient solution.
Entry entry();

/// The histories of the recorded classes, in history.cpp, which record_history.py makes.
const Histories& histories();

}  // namespace roundtrip::npb::cg
