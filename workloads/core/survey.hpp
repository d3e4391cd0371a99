#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/arm.hpp"
#include "core/metrics.hpp"
#include "core/planner.hpp"
#include "core/point.hpp"
#include "core/rounds.hpp"

namespace roundtrip {

struct Launch;

/// Single repetitions, recorded beside the batches of arms that can time each by itself, where the
/// clock tells them.
struct Singles {
  std::string phase;
  Metric metric{};
};

/// What a survey measures. Sizes are in bytes, times in seconds.
struct SurveyPlan {
  std::string study;                      ///< as in samples.csv
  std::string case_name;                  ///< as in samples.csv
  Metric metric{};                        ///< of a sample: the time of a part of a repetition
  std::vector<std::int64_t> sizes = {0};  ///< ascending
  /// Whether the size at this place may be of the coarse grid, which is measured first.
  std::function<bool(std::size_t)> may_be_coarse = [](std::size_t) { return true; };
  Sampling sampling = {};  ///< what a sample is, and how many to take
  Pace pace = {};          ///< how long batches are
  double grace_s = 0;      ///< past the budget, for each point's fewest samples
  std::optional<Singles> singles = std::nullopt;
  /// Phase of the samples in samples.csv. Nothing: arms keep what they time, such as the phases of
  /// a repetition, and the study records it.
  std::optional<std::string> phase = "measure";
  /// Time of the MPI clock at which to end, seconds; nothing: when the launch has spent its budget.
  std::optional<double> deadline_s = std::nullopt;
};

/// How many sizes of the coarse grid were measured, of those that are not too slow for all arms: a
/// launch with all of them is whole, although it may lack sizes between them.
struct Coverage {
  std::size_t measured = 0;
  std::size_t wanted = 0;
};

/// What a survey found out, at rank 0; empty on other ranks.
struct SurveyResult {
  std::vector<PointResult> points;  ///< by size, in the order of the arms
  std::int64_t discarded = 0;       ///< batches that were not recorded
  Coverage coverage = {};
};

/// Collective over `comm`, whose rank 0 is the root of the launch: measures every arm at every size
/// and records every sample in the launch, and how its arms take their times.
///
/// In each round all arms take turns in random order. A coarse grid over the whole range of sizes
/// comes first, then the sizes between, each with the fewest samples; what time is left refines all
/// of them, until each median is known well enough. So a launch that is cut short is coarse, not
/// half. A slow arm is bounded at the size from which on the others would lack its time. A single
/// size is visited once, for all the time there is, and at least one round. At each visit of a size
/// the data of each arm is checked first; throws Failure(wrong_data) on all ranks.
SurveyResult survey(const SurveyPlan& plan, const Arms& arms, MPI_Comm comm, Launch& launch);

/// Adds the points, their coverage and what was discarded to the record of the launch (run.json).
void record_points(Launch& launch, const SurveyPlan& plan, const SurveyResult& result);

}  // namespace roundtrip
