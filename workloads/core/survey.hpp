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

/// Single repetitions, recorded in addition to the batches, of arms that can time each separately,
/// where the clock resolves them.
struct Singles {
  std::string phase;
  Metric metric{};
};

/// The plan of a survey. Sizes are in bytes, times in seconds.
struct SurveyPlan {
  std::string study;                      ///< as in samples.csv
  std::string case_name;                  ///< as in samples.csv
  Metric metric{};                        ///< of a sample: the time of a part of a repetition
  std::vector<std::int64_t> sizes = {0};  ///< ascending
  /// Whether the size at this index may be in the coarse grid, which is measured first.
  std::function<bool(std::size_t)> may_be_coarse = [](std::size_t) { return true; };
  Sampling sampling = {};  ///< definition and number of samples
  Pace pace = {};          ///< length of batches
  double grace_s = 0;      ///< after the budget, for the minimum samples of each point
  std::optional<Singles> singles = std::nullopt;
  /// Phase of the samples in samples.csv. Empty: the arms keep their times, such as the phases of a
  /// repetition, and the study records them.
  std::optional<std::string> phase = "measure";
  /// Time of the MPI clock at which to end, seconds; empty: when the launch has spent its budget.
  std::optional<double> deadline_s = std::nullopt;
};

/// Number of measured sizes of the coarse grid, and of those not too slow for all arms (`wanted`).
/// A launch with all of them is complete, although it may lack sizes between them.
struct Coverage {
  std::size_t measured = 0;
  std::size_t wanted = 0;
};

/// Result of a survey, at rank 0; empty on other ranks.
struct SurveyResult {
  std::vector<PointResult> points;  ///< by size, in the order of the arms
  std::int64_t discarded = 0;       ///< number of unrecorded batches
  Coverage coverage = {};
};

/// Collective over `comm`, whose rank 0 is the root of the launch: measures every arm at every size
/// and records every sample and the timing facts of the arms in the launch.
///
/// In each round all arms take turns in random order. A coarse grid over the whole range of sizes
/// comes first, then the sizes between, each with the minimum number of samples; the time left
/// refines all of them, until each median is precise. So a launch that is cut short is coarse but
/// spans the range. A slow arm is bounded at the size from which on it would take the time of the
/// others. A single size is visited once, for the whole time and at least one round. Each visit of
/// a size first verifies the data of each arm; throws Failure(wrong_data) on all ranks.
SurveyResult survey(const SurveyPlan& plan, const Arms& arms, MPI_Comm comm, Launch& launch);

/// Adds points, coverage and number of discarded batches to the record of the launch (run.json).
void record_points(Launch& launch, const SurveyPlan& plan, const SurveyResult& result);

}  // namespace roundtrip
