#include "npb/common/record.hpp"

#include "core/launch.hpp"
#include "core/timing_facts.hpp"

namespace roundtrip::npb {
namespace {

using nlohmann::ordered_json;

/// The choices: time of each way, seconds, and the chosen way.
ordered_json choices(const Result& result) {
  auto all = ordered_json::array();
  for (const Choice& choice : result.choices) {
    auto seconds = ordered_json::object();
    for (std::size_t w = 0; w < choice.ways.size(); ++w) {
      seconds[choice.ways[w]] = choice.seconds[w];
    }
    all.push_back({{"of", choice.of},
                   {"chosen", choice.ways[choice.chosen]},
                   {"seconds", std::move(seconds)}});
  }
  return all;
}

ordered_json described(const Result& result) {
  return {{"specification", result.verified},
          {"history", result.compared},
          {"quantities", result.quantities},
          {"values", result.history}};
}

}  // namespace

void record(Launch& launch, const Result& result, const Measured& measured) {
  const auto& [iterations, rank_times, sizes] = measured;
  // The cache contents at the start of the timed section depend on the benchmark.
  record_timing(
      launch.record,
      {.clock = "each rank", .synchronisation = "barrier", .over_ranks = "maximum", .cache = ""});
  const std::string case_name = result.benchmark + '/' + result.problem_class;
  const auto series = [&](const std::string& phase, Metric metric,
                          std::int64_t size = 0) -> std::vector<double>& {
    return launch.recorder.open({.study = "npb",
                                 .case_name = case_name,
                                 .variant = "native",
                                 .size_bytes = size,
                                 .phase = phase,
                                 .metric = metric});
  };
  series("total", metrics::time).push_back(result.seconds);
  series("total", metrics::rate).push_back(result.mops());
  auto& whole = series("iteration", metrics::time);
  for (const Iteration& iteration : iterations) whole.push_back(iteration.seconds);
  auto& compute = series("compute", metrics::time);
  for (const Iteration& iteration : iterations) compute.push_back(iteration.compute);
  for (std::size_t p = 0; p < patterns; ++p) {
    if (sizes[p].empty()) continue;
    auto& in_mpi = series(pattern_names[p], metrics::time);
    for (const Iteration& iteration : iterations) {
      if (iteration.traffic[p].messages > 0) in_mpi.push_back(iteration.traffic[p].seconds);
    }
    for (const auto& [bytes, messages] : sizes[p]) {
      series(pattern_names[p], metrics::messages, bytes).push_back(static_cast<double>(messages));
    }
  }

  auto& computing = series("rank compute", metrics::time);
  for (const RankTime& rank : rank_times) computing.push_back(rank.compute);
  auto& communicating = series("rank communication", metrics::time);
  for (const RankTime& rank : rank_times) communicating.push_back(rank.communication);

  launch.record["points"] = ordered_json::array({{{"case", case_name},
                                                  {"variant", "native"},
                                                  {"size_bytes", 0},
                                                  {"samples", 1},
                                                  {"batch", result.problem.iterations},
                                                  {"median_s", result.seconds},
                                                  {"ci_relative_half_width", nullptr},
                                                  {"status", "converged"},
                                                  {"verified", result.verified}}});
  launch.record["npb"] = {
      {"benchmark", result.benchmark},
      {"class", std::string{result.problem_class}},
      {"operations", result.problem.operations},
      {"seconds", result.seconds},
      {"mops", result.mops()},
      {"verified", result.verified},
      {"choices", choices(result)},
      {"verification", described(result)},
      {"memory", {{"expected_bytes", result.memory.expected}, {"most_bytes", result.memory.most}}}};
}

}  // namespace roundtrip::npb
