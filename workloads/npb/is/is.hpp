#pragma once

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::is {

/// IS, "integer sort": the ranks of N small integers, ten times, by a parallel bucket sort.
Entry entry();

}  // namespace roundtrip::npb::is
