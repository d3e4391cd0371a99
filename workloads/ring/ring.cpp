#include "ring/ring.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

#include "core/failure.hpp"
#include "core/launch.hpp"
#include "core/simulation.hpp"
#include "ring/arm.hpp"
#include "ring/peer_watch.hpp"
#include "ring/token.hpp"

namespace roundtrip::ring {
namespace {

using nlohmann::ordered_json;

void require(bool condition, const std::string& otherwise) {
  if (!condition) throw Failure(Exit::usage, otherwise);
}

}  // namespace

Ring::Ring(std::string name, std::vector<Variant> variants)
    : name_(std::move(name)), variants_(std::move(variants)) {
  for (const Variant& variant : variants_) names_.push_back(variant.name);
}

std::string Ring::description() const {
  return "Passes a region of memory round a ring of ranks: by reference, by MPI and by others";
}

void Ring::declare(CLI::App& app) {
  std::string all;
  for (const std::string& name : names_) all += (all.empty() ? "" : ",") + name;
  app.add_option("--transports", names_, "Which of " + all)->delimiter(',');
  app.add_option("--start", start_, "Smallest region, bytes")->capture_default_str();
  app.add_option("--end", end_,
                 "Largest region, bytes; between them the powers of ten times the "
                 "smallest")
      ->capture_default_str();
  precision_.declare(app);
  app.add_option("--processors", processors_,
                 "Confine the ranks of a node to so many processors, together");
  app.add_option("--heap", heap_, "Comm heap of each rank, bytes; as large as needed unless given");
  app.add_option("--interface", interface_,
                 "Network interface between nodes, such as eth1, for transports of our own there");
  app.add_option("--pretend-nodes", pretended_,
                 "Node of each rank: part the ranks of one machine as if they shared no memory")
      ->delimiter(',');
}

void Ring::check_flags() {
  for (const std::string& name : names_) {
    require(std::ranges::any_of(variants_, [&](const Variant& v) { return v.name == name; }),
            "--transports: no transport " + name);
    require(std::ranges::count(names_, name) == 1, "--transports: " + name + " is named twice");
  }
  require(start_ >= static_cast<std::int64_t>(counter_bytes),
          "--start: a region holds at least its counter of " + std::to_string(counter_bytes) +
              " bytes");
  require(end_ >= start_, "--end: must not be smaller than --start");
  require(end_ <= std::numeric_limits<int>::max(),
          "--end: an MPI message holds at most 2147483647 bytes");
  precision_.check();
  require(processors_ >= 0, "--processors: must not be negative");
  constexpr std::int64_t least_heap = 4096;
  require(heap_ == 0 || heap_ >= least_heap, "--heap: must be at least 4096 bytes");
}

std::vector<Variant> Ring::chosen(const Topology& topology) {
  std::vector<Variant> variants;
  for (const std::string& name : names_) {
    const auto& variant = *std::ranges::find(variants_, name, &Variant::name);
    if (simulated && variant.waits_without_mpi) {
      skipped_.push_back({.variant = name, .reason = ranks_are_cooperative});
    } else if (const auto reason = variant.obstacle(topology)) {
      skipped_.push_back({.variant = name, .reason = *reason});
    } else {
      variants.push_back(variant);
    }
  }
  require(!variants.empty(), "no transport can be used: " +
                                 (skipped_.empty() ? "none named" : skipped_.front().reason));
  return variants;
}

/// The smallest size times powers of ten, and the largest.
std::vector<std::int64_t> Ring::sizes() const {
  constexpr std::int64_t factor = 10;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = start_; size < end_; size *= factor) sizes.push_back(size);
  sizes.push_back(end_);
  return sizes;
}

void Ring::run(Launch& launch) {
  const Topology topology(launch.session, pretended_, processors_, interface_);
  std::optional<PeerWatch> watch;
  if (!simulated) watch.emplace(topology);
  const std::vector<Variant> variants = chosen(topology);
  const auto carriers = make_carriers(topology, variants, static_cast<std::size_t>(end_),
                                      static_cast<std::size_t>(heap_));
  // After its last pass a rank waits inside MPI, and some MPIs do not yield the processor there to
  // a rank that needs it for its last pass. In a simulation, the rank's next message would share
  // rank 0's link with the last pass, and a batch of one lap would differ from others.
  const int closing_laps = topology.crowded() || simulated ? 1 : 0;
  Arms arms;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (const bool read : {false, true}) {
      if (read && !(variants[i].read && topology.one_node())) continue;
      arms.push_back(std::make_unique<RingArm>(topology, carriers[i], read, closing_laps));
    }
  }
  const SurveyPlan plan = this->plan(topology, launch.flags.budget_s);
  const SurveyResult result = survey(plan, arms, launch.session.world(), launch);
  if (launch.session.root()) record(launch, topology, plan, result);
  for (const auto& carrier : carriers) carrier->transport->describe(launch.record);
  if (launch.session.root()) print(arms, plan, result);
}

SurveyPlan Ring::plan(const Topology& topology, double budget_s) const {
  // Traffic left by messages between batches, such as late acknowledgements, delays the next batch:
  // on a hub, where it takes as long as a token, it would dominate a batch of one lap. Simulated
  // laps are identical: a batch is one lap, and single laps are not timed.
  constexpr double network_laps = simulated ? 1 : 16;
  // The first lap is a poor estimate: it may have waited for a rank that arrived late.
  constexpr double laps_on_trial = simulated ? 1 : 16;
  constexpr double shortest_s = simulated ? 0 : 100e-6;
  const std::optional<Singles> laps = Singles{.phase = "laps", .metric = metrics::lap_time};
  // A busy machine may exceed the budget; the job's time limit allows twice this grace.
  constexpr double grace_s = 30;
  return {.study = "ring",
          .case_name = (topology.pretended() ? "pretended " : "") + topology.shape(),
          .metric = metrics::time_per_pass,
          .sizes = sizes(),
          .sampling = {.precision = precision_.relative(), .parts = topology.size()},
          .pace = {.shortest_s = shortest_s,
                   .long_s = 50e-3,
                   .least = topology.one_node() ? 1 : network_laps,
                   .least_on_trial = laps_on_trial},
          .grace_s = budget_s + grace_s,
          .singles = simulated ? std::nullopt : laps};
}

void Ring::print(const Arms& arms, const SurveyPlan& plan, const SurveyResult& result) const {
  constexpr std::size_t column = 12;
  std::vector<std::string> names;
  names.reserve(arms.size());
  for (const auto& arm : arms) names.push_back(arm->name());
  std::printf("Median time per pass, microseconds (* = not within %g %%); ranks on nodes: %s\n%s",
              precision_.percent, plan.case_name.c_str(),
              median_table(names, result.points, column).c_str());
  for (const Skipped& skipped : skipped_) {
    std::printf("skipped: %s: %s\n", skipped.variant.c_str(), skipped.reason.c_str());
  }
}

void Ring::record(Launch& launch, const Topology& topology, const SurveyPlan& plan,
                  const SurveyResult& result) const {
  const int shared = topology.shared_passes();
  ordered_json skipped = ordered_json::array();
  for (const Skipped& one : skipped_) {
    skipped.push_back({{"variant", one.variant}, {"reason", one.reason}});
  }
  launch.record["ring"] = {
      {"tokens", 1},
      {"ranks_on_nodes", topology.shape()},
      {"passes_per_lap", {{"shared", shared}, {"network", topology.size() - shared}}},
      {"processors_per_node", topology.processors()},
      {"wait",
       {{"spins", topology.wait().spins},
        {"yields", topology.wait().yields},
        {"network_yields_ms", topology.wait().network_yields.count()},
        {"then", topology.one_node() ? "futex" : "poll"}}},
      {"read", topology.one_node() ? "every byte, and a word of each 64 bytes renewed" : "nowhere"},
      {"pretended_nodes", topology.pretended() ? ordered_json(pretended_) : ordered_json(nullptr)},
      {"skipped", skipped}};
  record_points(launch, plan, result);
}

}  // namespace roundtrip::ring
