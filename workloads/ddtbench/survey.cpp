#include "ddtbench/survey.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "core/launch.hpp"
#include "core/survey.hpp"

namespace roundtrip::ddtbench {
namespace {

bool uses(const Plan& plan, Buffering buffering) {
  return std::ranges::find(plan.bufferings, buffering) != plan.bufferings.end();
}

/// Results of all methods with each buffering; refused methods have no arm.
struct Comparison {
  std::vector<ArmResult> results;
  std::vector<std::size_t> measured;  ///< index of each arm's result
  Arms arms;
};

Comparison compare(const Case& item, MicroApp& app, const Plan& plan, Memory& memory) {
  std::vector<std::pair<const MethodInfo*, Admission>> methods;
  for (const MethodInfo* info : plan.methods) {
    if (info->is_ours && !app.has_tuned_loops()) continue;
    methods.emplace_back(info, admit(*info, app, memory.ends(), item.bytes));
  }
  Comparison comparison;
  // Arms keep references to their results, which must not move.
  comparison.results.reserve(plan.bufferings.size() * methods.size());
  for (const Buffering buffering : plan.bufferings) {
    for (const auto& [info, admission] : methods) {
      ArmResult& result = comparison.results.emplace_back(
          ArmResult{.buffering = buffering,
                    .method = info,
                    .point = {.variant = std::string(info->name),
                              .size = static_cast<std::int64_t>(item.bytes),
                              .batch = 1,
                              .status = Status::refused},
                    .skips_unpack = info->name.starts_with("manual") && app.landing() != nullptr,
                    .finding = admission.finding});
      if (!admission.runs) continue;
      const Setting setting{.app = app,
                            .ends = memory.ends(),
                            .bytes = item.bytes,
                            .shared = buffering == Buffering::original ? nullptr : memory.shared(),
                            .pack_origin = admission.pack_origin};
      comparison.measured.push_back(comparison.results.size() - 1);
      comparison.arms.push_back(
          std::make_unique<MethodArm>(item, memory, info->make(setting), result));
    }
  }
  return comparison;
}

/// An outer iteration has ten exchanges, or fewer if ten would take more than a fifth of an arm's
/// time. One exchange is sufficient warm-up if it takes at least a tenth of an arm's time.
Pace pace(std::size_t arms, double seconds) {
  constexpr double most_exchanges = 10;
  constexpr double iterations_wanted = 5;
  constexpr double affordable = 0.1;
  const double share_s = std::max(seconds, 0.0) / static_cast<double>(arms);
  return {.shortest_s = 0,
          .long_s = affordable * share_s,
          .least = most_exchanges,
          .least_on_trial = 2,
          .filling_s = share_s / iterations_wanted,
          .most = most_exchanges};
}

}  // namespace

std::vector<ArmResult> survey(const Case& item, MicroApp& app, const Plan& plan, const Ends& ends,
                              Launch& launch, double seconds) {
  constexpr std::size_t fewest_iterations = 3;
  constexpr std::size_t most_samples = 3000;
  const double deadline_s = now() + seconds;
  const bool shares = uses(plan, Buffering::same) || uses(plan, Buffering::cold);
  Memory memory(app, ends, item.bytes, shares, uses(plan, Buffering::cold) ? plan.evicted_bytes : 0,
                plan.seed);
  Comparison comparison = compare(item, app, plan, memory);
  if (comparison.arms.empty()) return std::move(comparison.results);
  const SurveyPlan survey_plan{.study = "ddtbench",
                               .case_name = item.app,
                               .metric = metrics::epoch_time,
                               .sizes = {static_cast<std::int64_t>(item.bytes)},
                               .sampling = {.precision = plan.precision,
                                            .each = true,
                                            .fewest_batches = fewest_iterations,
                                            .most_samples = most_samples},
                               .pace = pace(comparison.arms.size(), seconds),
                               .phase = std::nullopt,
                               .deadline_s = deadline_s};
  const SurveyResult result = survey(survey_plan, comparison.arms, ends.comm, launch);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    comparison.results[comparison.measured[i]].point = result.points[i];
  }
  return std::move(comparison.results);
}

}  // namespace roundtrip::ddtbench
