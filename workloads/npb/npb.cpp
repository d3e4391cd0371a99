#include "npb/npb.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

#include "core/failure.hpp"
#include "core/launch.hpp"
#include "core/simulation.hpp"
#include "npb/common/memory.hpp"
#include "npb/common/ranks.hpp"
#include "npb/common/record.hpp"
#include "npb/common/result_block.hpp"

namespace roundtrip::npb {
namespace {

const std::string by_specification = "specification";
const std::string by_history = "history";

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const char* letter = problem_classes; *letter != '\0'; ++letter) names.push_back({*letter});
  return names;
}

void require_class(const Entry& entry, char problem_class) {
  if (entry.classes.find(problem_class) != std::string::npos) return;
  throw Failure(Exit::usage, "--class: " + entry.name + " has no class " + problem_class +
                                 " here, but " + entry.classes);
}

void require_legal(const RankRule& rule, const std::string& benchmark, int ranks) {
  if (rule.legal(ranks)) return;
  throw Failure(Exit::usage, benchmark + " cannot run on " + std::to_string(ranks) +
                                 " ranks, but on " + legal_counts(rule, ranks) +
                                 ", ...: " + rule.text);
}

/// Comparison of a run's history with the recorded one.
struct Compared {
  std::string summary;
  std::vector<std::string> quantities;
  bool deviates = false;
};

Compared compare(const Entry& entry, char problem_class, std::span<const double> history) {
  const auto recorded = entry.histories.find(problem_class);
  if (recorded == entry.histories.end()) return {"not recorded for this class", {}};
  Compared compared{"agrees", {}};
  for (const Quantity& quantity : recorded->second.quantities) {
    compared.quantities.emplace_back(quantity.name);
  }
  if (const auto deviation = first_deviation(recorded->second, history)) {
    compared.summary = deviation->text();
    compared.deviates = true;
  }
  return compared;
}

}  // namespace

Npb::Npb(std::vector<Entry> benchmarks) : benchmarks_(std::move(benchmarks)) {}

std::string Npb::description() const {
  return "NAS Parallel Benchmarks, MPI: one benchmark of one class, verified";
}

void Npb::declare(CLI::App& app) {
  std::vector<std::string> names;
  for (const Entry& entry : benchmarks_) names.push_back(entry.name);
  app.add_option("--benchmark", benchmark_, "Which benchmark")
      ->required()
      ->check(CLI::IsMember(names));
  app.add_option("--class", class_, "Size of the problem")
      ->check(CLI::IsMember(class_names()))
      ->capture_default_str();
  app.add_option("--verification", verification_,
                 "By the specification alone, or also each iteration by its recorded history")
      ->check(CLI::IsMember({by_specification, by_history}))
      ->capture_default_str();
}

const Entry& Npb::chosen() const {
  return *std::ranges::find(benchmarks_, benchmark_, &Entry::name);
}

void Npb::run(Launch& launch) {
  const Session& session = launch.session;
  const Entry& entry = chosen();
  const char problem_class = class_[0];
  require_class(entry, problem_class);
  require_legal(entry.ranks(problem_class), entry.name, session.size());
  const auto benchmark = entry.make(problem_class);
  const double expected = benchmark->bytes(session.size());
  require_memory(session, entry.name + ' ' + class_, expected);

  const double before = peak_bytes();
  Comm comm(session.world());
  TimedSection section(comm);
  if (session.root()) std::printf("%s", headline(entry.name).c_str());
  const auto [verified, history] = benchmark->run(comm, section);
  Compared compared{"not compared", {}};
  if (verification_ == by_history && session.root()) {
    compared = compare(entry, problem_class, history);
  }
  if (session.root()) std::printf(" History: %s\n", compared.summary.c_str());

  const int ranks_per_process = simulated ? session.size() : 1;
  const Result result{.benchmark = entry.name,
                      .problem_class = problem_class,
                      .problem = benchmark->problem(),
                      .seconds = section.seconds(),
                      .ranks = session.size(),
                      .verified = verified,
                      .compared = compared.summary,
                      .quantities = compared.quantities,
                      .history = history,
                      .choices = benchmark->choices(),
                      .memory = {expected, comm.max(peak_bytes() - before) / ranks_per_process}};
  const Measured measured{section.iterations(), section.rank_times(), section.sizes()};
  if (session.root()) {
    std::printf("%s", result_block(result).c_str());
    record(launch, result, measured);
  }
  if (!verified) {
    throw Failure(Exit::wrong_data, entry.name + ' ' + class_ + ": verification failed");
  }
  session.agree([&] {
    if (!compared.deviates) return;
    throw Failure(Exit::wrong_data,
                  entry.name + ' ' + class_ +
                      ": the specification's verification passed, but the history " +
                      compared.summary);
  });
}

}  // namespace roundtrip::npb
