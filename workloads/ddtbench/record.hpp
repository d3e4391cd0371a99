#pragma once

#include <vector>

#include "core/workload.hpp"
#include "ddtbench/survey.hpp"

namespace roundtrip::ddtbench {

/// Adds a case's samples to the launch's, and to its record one point for each arm: the median
/// round trip, how well it is known, and what the MPI library refused.
void record(const Case& item, const std::vector<ArmResult>& results, Launch& launch);

/// One line a buffering for people: round trips, and overheads as the study defines them.
void print_case(const Case& item, const std::vector<ArmResult>& results);

}  // namespace roundtrip::ddtbench
