#pragma once

#include <vector>

#include "core/workload.hpp"
#include "npb/common/result_block.hpp"
#include "npb/common/timed_section.hpp"

namespace roundtrip::npb {

/// Fills in samples and record of a launch, at the root. samples.csv: time and Mop/s of the timed
/// section (phase `total`); for each iteration its time (`iteration`), that without MPI (`compute`)
/// and that in MPI for each pattern (`exchange`, ...); the number of messages of each pattern and
/// size in the timed section (metric `messages`, all ranks together).
void record(Launch& launch, const Result& result, const std::vector<Iteration>& iterations,
            const MessageSizes& sizes);

}  // namespace roundtrip::npb
