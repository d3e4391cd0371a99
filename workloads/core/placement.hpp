#pragma once

#include <vector>

namespace roundtrip {

/// The processors that this thread may run on (sched_getaffinity(2)); empty if that is unknown.
std::vector<int> allowed_cpus();

}  // namespace roundtrip
