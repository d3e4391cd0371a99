#include "ring/ring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "core/failure.hpp"
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
  app.add_option("--precision", precision_percent_,
                 "Repeat until the median's 95 % interval is so narrow, percent")
      ->capture_default_str();
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
  require(std::isfinite(precision_percent_) && precision_percent_ > 0,
          "--precision: must be a positive percentage");
  require(processors_ >= 0, "--processors: must not be negative");
  constexpr std::int64_t least_heap = 4096;
  require(heap_ == 0 || heap_ >= least_heap, "--heap: must be at least 4096 bytes");
}

std::vector<Variant> Ring::chosen(const Circle& circle) {
  std::vector<Variant> variants;
  for (const std::string& name : names_) {
    const auto& variant = *std::ranges::find(variants_, name, &Variant::name);
    if (const auto reason = variant.obstacle(circle)) {
      skipped_.push_back({.variant = name, .reason = *reason});
    } else {
      variants.push_back(variant);
    }
  }
  require(!variants.empty(), "no transport can be used: " +
                                 (skipped_.empty() ? "none named" : skipped_.front().reason));
  return variants;
}

/// Times powers of ten, and the largest.
std::vector<std::int64_t> Ring::sizes() const {
  constexpr std::int64_t factor = 10;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = start_; size < end_; size *= factor) sizes.push_back(size);
  sizes.push_back(end_);
  return sizes;
}

void Ring::run(Launch& launch) {
  const Circle circle(launch.session, pretended_, processors_, interface_);
  const PeerWatch watch(circle);
  const std::vector<Variant> variants = chosen(circle);
  Crew crew(circle, variants, static_cast<std::size_t>(end_), static_cast<std::size_t>(heap_));
  if (circle.rank() != 0) return crew.follow();
  lead(launch, circle, crew);
  crew.stop();
}

void Ring::lead(Launch& launch, const Circle& circle, Crew& crew) const {
  constexpr double percent = 100;
  // What the messages between batches leave on a network, such as late acknowledgements, falls into
  // the next batch: on a hub, where it takes as long as a token, a batch of one lap would be it.
  constexpr double network_laps = 16;
  // Who has passed the token for the last time waits inside MPI, and some MPIs do not give up the
  // processor there that another rank needs for its last pass.
  SurveyPlan plan{.case_name = (circle.pretended() ? "pretended " : "") + circle.shape(),
                  .names = {},
                  .sizes = sizes(),
                  .passes = circle.size(),
                  .batch_laps = circle.one_node() ? 1 : network_laps,
                  .closing_laps = circle.crowded() ? 1 : 0,
                  .precision = precision_percent_ / percent};
  for (std::size_t arm = 0; arm < crew.arms(); ++arm) plan.names.push_back(crew.name(arm));
  Survey survey(plan, crew, launch);
  survey.run();
  record(launch, circle, survey, plan.case_name);
  crew.describe(launch.record);
  constexpr std::size_t column = 12;
  std::printf("Median time per pass, microseconds (* = not within %g %%); ranks on nodes: %s\n%s",
              precision_percent_, plan.case_name.c_str(),
              median_table(plan.names, survey.results(), column).c_str());
  for (const Skipped& skipped : skipped_) {
    std::printf("skipped: %s: %s\n", skipped.variant.c_str(), skipped.reason.c_str());
  }
}

void Ring::record(Launch& launch, const Circle& circle, const Survey& survey,
                  const std::string& case_name) const {
  const int shared = circle.shared_passes();
  ordered_json skipped = ordered_json::array();
  for (const Skipped& one : skipped_) {
    skipped.push_back({{"variant", one.variant}, {"reason", one.reason}});
  }
  launch.record["ring"] = {
      {"tokens", 1},
      {"ranks_on_nodes", circle.shape()},
      {"passes_per_lap", {{"shared", shared}, {"network", circle.size() - shared}}},
      {"processors_per_node", circle.processors()},
      {"wait",
       {{"spins", circle.wait().spins},
        {"yields", circle.wait().yields},
        {"network_yields_ms", circle.wait().network_yields.count()},
        {"then", circle.one_node() ? "futex" : "poll"}}},
      {"read", circle.one_node() ? "every byte, and a word of each 64 bytes renewed" : "nowhere"},
      {"pretended_nodes", circle.pretended() ? ordered_json(pretended_) : ordered_json(nullptr)},
      {"skipped", skipped}};
  launch.record["warmup_discarded"] = survey.discarded();
  ordered_json points = ordered_json::array();
  for (const PointResult& result : survey.results()) {
    points.push_back(point_record(case_name, result));
  }
  launch.record["points"] = std::move(points);
}

}  // namespace roundtrip::ring
