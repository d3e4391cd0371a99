#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::cg {

/// CG: the smallest eigenvalue of a large sparse symmetric matrix by inverse iteration with
/// conjugate-gradient solutions.
Entry entry();

/// The histories of the recorded classes; record_history.py generates history.cpp.
const Histories& histories();

}  // namespace roundtrip::npb::cg
