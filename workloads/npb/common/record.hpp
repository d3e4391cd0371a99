#pragma once

#include <vector>

#include "npb/common/result_block.hpp"
#include "npb/common/timed_section.hpp"

namespace roundtrip {
struct Launch;
}

namespace roundtrip::npb {

/// The measurements of a timed section.
struct Measured {
  std::vector<Iteration> iterations;
  std::vector<RankTime> rank_times;
  MessageSizes sizes;
};

/// Fills in the samples and the record of a launch, at the root. samples.csv has
/// - the time and Mop/s of the timed section (phase `total`);
/// - for each iteration its time (`iteration`), its time outside of MPI (`compute`) and its time in
///   MPI for each pattern (`exchange`, ...);
/// - the number of messages of each pattern and size in the timed section, summed over all ranks
///   (metric `messages`);
/// - for each rank its time outside of MPI and in MPI, waiting included (phases `rank ...`; rep is
///   the rank).
/// run.json, `npb`: results, choices, memory, verification and history.
void record(Launch& launch, const Result& result, const Measured& measured);

}  // namespace roundtrip::npb
