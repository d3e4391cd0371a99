#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::is {

/// IS, "integer sort": the ranks of N small integers, ten times, by a parallel bucket sort.
Entry entry();

/// Of the classes that were recorded: history.cpp, made by record_history.py.
const Histories& histories();

}  // namespace roundtrip::npb::is
