#pragma once

#include <vector>

#include "core/workload.hpp"
#include "npb/common/result_block.hpp"
#include "npb/common/timed_section.hpp"

namespace roundtrip::npb {

/// What there is to record of a timed section.
struct Measured {
  std::vector<Iteration> iterations;
  std::vector<RankTime> rank_times;
  MessageSizes sizes;
};

/// Fills in samples and record of a launch, at the root. samples.csv: time and Mop/s of the timed
/// section (phase `total`); for each iteration its time (`iteration`), that without MPI (`compute`)
/// and that in MPI for each pattern (`exchange`, ...); the number of messages of each pattern and
/// size in the timed section (metric `messages`, all ranks together); what each rank computed and
/// communicated (phases `rank ...`, rep: the rank; communication: in MPI, waiting included).
/// run.json, `npb`: verification by the specification, and the history of the iterations.
void record(Launch& launch, const Result& result, const Measured& measured);

}  // namespace roundtrip::npb
