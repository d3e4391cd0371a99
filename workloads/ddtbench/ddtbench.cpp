#include "ddtbench/ddtbench.hpp"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

#include "core/failure.hpp"
#include "core/interleaver.hpp"
#include "core/launch.hpp"
#include "core/simulation.hpp"
#include "core/subset.hpp"
#include "core/whole_file.hpp"
#include "ddtbench/original_format.hpp"
#include "ddtbench/pack_speed.hpp"
#include "ddtbench/record.hpp"

namespace roundtrip::ddtbench {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// Throws Failure(usage) if `names` is empty or has unknown or repeated names.
void require_known(const char* flag, const std::vector<std::string>& names,
                   const std::vector<std::string>& known) {
  if (names.empty()) throw Failure(Exit::usage, std::string(flag) + ": names nothing");
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      throw Failure(Exit::usage,
                    std::string(flag) + ": unknown '" + name + "'; there are: " + joined(known));
    }
    if (std::ranges::count(names, name) > 1) {
      throw Failure(Exit::usage, std::string(flag) + ": '" + name + "' is given twice");
    }
  }
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const MethodInfo& info : methods()) names.emplace_back(info.name);
  return names;
}

/// Twice the larger of the L2 and L3 caches, within bounds. Eviction of a big server's last-level
/// cache would take longer than the measured exchange.
std::size_t bytes_to_evict() {
  constexpr std::size_t least = 8UL << 20U;
  constexpr std::size_t most = 32UL << 20U;
  std::size_t largest = 0;
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE}) {
    largest = std::max(largest, static_cast<std::size_t>(std::max(0L, sysconf(level))));
  }
  return std::clamp(2 * largest, least, most);
}

/// Weight of a case in the division of the time: a constant, and a part proportional to its bytes.
double weight(const Case& item) {
  constexpr double bytes_as_long = 1e6;
  return 1 + static_cast<double>(item.bytes) / bytes_as_long;
}

double total_weight(const Catalogue& catalogue, const std::vector<std::size_t>& order,
                    std::size_t first) {
  double sum = 0;
  for (std::size_t i = first; i < order.size(); ++i) sum += weight(catalogue[order[i]]);
  return sum;
}

}  // namespace

DdtBench::DdtBench() : apps_(app_names()), methods_(method_names()) {}

std::string DdtBench::description() const {
  return "DDTBench: MPI derived datatypes against packing by hand, for the access patterns of 16 "
         "micro-applications. Ranks 0 and 1 play ping-pong; FFT is all-to-all over all ranks.";
}

void DdtBench::declare(CLI::App& app) {
  app.add_option("--apps", apps_, "Micro-apps, by name")->delimiter(',');
  app.add_option("--sizes", sizes_, "all parameter sets of the study, or the largest of each app")
      ->capture_default_str();
  app.add_option("--methods", methods_,
                 "mpi_ddt, manual, mpi_pack_ddt, reference, manual-tuned; all by default")
      ->delimiter(',');
  app.add_option("--buffers", buffers_,
                 "original: memory as DDTBench uses it; same: every method finds all memory in the "
                 "same state; cold: the same, out of cache")
      ->delimiter(',')
      ->capture_default_str();
  precision_.declare(app);
  app.add_option("--ddtbench-format", format_file_,
                 "Also write the times of the first of --buffers in DDTBench's own columns");
  app.add_flag("--list", list_, "List the cases and leave");
  app.add_flag("--pack-speed", pack_speed_, "Compare the pack loops with memcpy and leave");
}

void DdtBench::check_flags() {
  require_known("--apps", apps_, app_names());
  require_known("--methods", methods_, method_names());
  std::vector<std::string> buffering_names(bufferings.size());
  std::ranges::transform(bufferings, buffering_names.begin(), name_of);
  require_known("--buffers", buffers_, buffering_names);
  require_known("--sizes", {sizes_}, {"all", "largest"});
  precision_.check();
  if (simulated && pack_speed_) {
    throw Failure(Exit::usage, "--pack-speed: times memory, which takes no time in a simulation");
  }
}

void DdtBench::run(Launch& launch) {
  const Session& session = launch.session;
  if (session.size() % 2 != 0) {
    throw Failure(Exit::usage,
                  "needs an even number of ranks, started with " + std::to_string(session.size()));
  }
  const Catalogue catalogue =
      select({.apps = apps_, .largest_only = sizes_ == "largest"}, session.size());
  if (list_) {
    for (const Case& item : catalogue) {
      if (!session.root()) break;
      std::printf("%-14s %10zu bytes  %s\n", item.app.c_str(), item.bytes, item.parameters.c_str());
    }
  } else if (pack_speed_) {
    print_pack_speed(session, catalogue);
  } else {
    survey_all(launch, catalogue);
  }
}

Plan DdtBench::plan(const Launch& launch) const {
  Plan plan{.bufferings = {},
            .methods = {},
            .precision = precision_.relative(),
            .evicted_bytes = bytes_to_evict(),
            .seed = launch.flags.seed};
  for (const std::string& name : buffers_) {
    plan.bufferings.push_back(*std::ranges::find(bufferings, name, name_of));
  }
  for (const MethodInfo& info : methods()) {
    if (std::ranges::find(methods_, info.name) != methods_.end()) plan.methods.push_back(&info);
  }
  return plan;
}

void DdtBench::survey_all(Launch& launch, const Catalogue& catalogue) const {
  const Session& session = launch.session;
  session.agree([&] {
    if (session.root() && !format_file_.empty()) require_writable(format_file_);
  });
  Plan plan = this->plan(launch);
  // Each rank draws a seed; rank 0's is used, because the order must be the same on all ranks.
  MPI_Bcast(&plan.seed, 1, MPI_UINT32_T, 0, session.world());

  std::vector<std::size_t> order(catalogue.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  Interleaver(plan.seed).shuffle(order);

  const Subset pair(session.world(), session.rank() < 2);  // of the ping-pong
  std::vector<std::vector<ArmResult>> results(catalogue.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Case& item = catalogue[order[i]];
    const double seconds = launch.time_left() * weight(item) / total_weight(catalogue, order, i);
    std::unique_ptr<MicroApp> app;
    session.agree([&] { app = item.make(); });
    session.agree([&] {
      const Ends ends = {.comm = app->collective() ? session.world() : pair.get(),
                         .rank = session.rank(),
                         .size = app->collective() ? session.size() : 2};
      if (ends.comm == MPI_COMM_NULL) return;
      results[order[i]] = survey(item, *app, plan, ends, launch, seconds);
    });
    if (session.root()) print_case(item, results[order[i]]);
  }
  session.agree([&] {
    if (session.root()) write_results(launch, catalogue, plan, results);
  });
}

void DdtBench::write_results(Launch& launch, const Catalogue& catalogue, const Plan& plan,
                             const std::vector<std::vector<ArmResult>>& results) const {
  launch.record["evicted_bytes"] = plan.evicted_bytes;
  launch.record["precision"] = plan.precision;
  OriginalFormat original;
  for (std::size_t i = 0; i < catalogue.size(); ++i) {
    record(catalogue[i], results[i], launch);
    for (const ArmResult& arm : results[i]) {
      if (arm.buffering == plan.bufferings.front())
        original.add(catalogue[i], arm, launch.session.size());
    }
  }
  if (!format_file_.empty()) write_whole(format_file_, original.text());
}

void DdtBench::print_pack_speed(const Session& session, const Catalogue& catalogue) {
  constexpr double seconds_each = 0.1;
  session.agree([&] {
    if (!session.root()) return;
    std::printf("%-14s %10s %10s %10s %12s %14s %10s %12s\n", "app", "bytes", "pack us",
                "unpack us", "tuned pack us", "tuned unpack us", "memcpy us", "plain/tuned");
    for (const Case& item : catalogue) {
      const PackSpeed speed = measure_pack_speed(item, seconds_each);
      std::printf("%-14s %10zu %10.3f %10.3f %13.3f %15.3f %10.3f %12.2f\n", item.app.c_str(),
                  item.bytes, speed.pack_s * 1e6, speed.unpack_s * 1e6, speed.tuned_pack_s * 1e6,
                  speed.tuned_unpack_s * 1e6, speed.copy_s * 1e6,
                  (speed.pack_s + speed.unpack_s) / (speed.tuned_pack_s + speed.tuned_unpack_s));
    }
  });
}

}  // namespace roundtrip::ddtbench
