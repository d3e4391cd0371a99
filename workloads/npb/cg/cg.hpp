#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::cg {

/// CG: the smallest eigenvalue of a large sparse symmetric matrix by inverse iteration, each step a
/// conjugate-gradient solution.
Entry entry();

/// Of the classes that were recorded: history.cpp, made by record_history.py.
const Histories& histories();

}  // namespace roundtrip::npb::cg
