#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::cg {

/// CG: the smallest eigenvalue of a large sparse symmetric matrix by inverse iteration, each step a
/// conjugate-gradient solution.
Entry entry();

}  // namespace roundtrip::npb::cg
