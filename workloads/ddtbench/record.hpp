#pragma once

#include <vector>

#include "ddtbench/survey.hpp"

namespace roundtrip::ddtbench {

/// Adds a case's samples to those of the launch, and one point for each result to its record: the
/// median round trip, its precision, and the MPI library's refusal.
void record(const Case& item, const std::vector<ArmResult>& results, Launch& launch);

/// Prints one line per buffering: round trips, and overheads as the study defines them.
void print_case(const Case& item, const std::vector<ArmResult>& results);

}  // namespace roundtrip::ddtbench
