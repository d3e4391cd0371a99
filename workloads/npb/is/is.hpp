#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::is {

/// IS, "integer sort": the ranks of N small integers, ten times, by a parallel bucket sort.
Entry entry();

/// The histories of the recorded classes, in history.cpp, which record_history.py makes.
const Histories& histories();

}  // namespace roundtrip::npb::is
