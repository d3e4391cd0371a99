#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::is {

/// IS, "integer sort": ranks N small integers ten times by a parallel bucket sort.
Entry entry();

/// The histories of the recorded classes; record_history.py generates history.cpp.
const Histories& histories();

}  // namespace roundtrip::npb::is
