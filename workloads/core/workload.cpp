#include "core/workload.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <map>
#include <random>
#include <string>

#include "core/build_info.hpp"
#include "core/disturbance.hpp"
#include "core/failure.hpp"
#include "core/identity.hpp"
#include "core/json_text.hpp"
#include "core/launch.hpp"
#include "core/loaded.hpp"
#include "core/node.hpp"
#include "core/simulation.hpp"
#include "core/stops.hpp"
#include "core/whole_file.hpp"

namespace roundtrip {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

enum class Parsed { run, done };

/// Reads the flags, the same on every rank; answers --help and --version at the root.
Parsed parse(int argc, char** argv, Workload& workload, CommonFlags& flags, bool root) {
  CLI::App app(workload.description(), workload.name());
  app.set_version_flag("--version", workload.name() + ' ' + build_info::version);
  app.add_option("--samples", flags.samples,
                 "Write every sample to this CSV file, and run.json beside it");
  app.add_option("--budget", flags.budget_s, "Seconds the launch may take")->capture_default_str();
  app.add_option("--seed", flags.seed, "Seed of the random order; random unless given");
  workload.declare(app);
  flags.seed = std::random_device{}();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      if (root) app.exit(error);
      return Parsed::done;
    }
    throw Failure(Exit::usage, error.what());
  }
  if (!std::isfinite(flags.budget_s) || flags.budget_s <= 0) {
    throw Failure(Exit::usage, "--budget: must be a positive number of seconds");
  }
  workload.check_flags();
  return Parsed::run;
}

fs::path record_path(const CommonFlags& flags) {
  return fs::path(flags.samples).replace_filename("run.json");
}

/// If this launch fails, files of an earlier one must not be taken for its own.
void clear_files(const CommonFlags& flags) {
  const fs::path record = record_path(flags);
  if (fs::path(flags.samples).filename() == record.filename()) {
    throw Failure(Exit::usage, "--samples: run.json is the name of the launch's own record");
  }
  require_writable(flags.samples);
  require_writable(record);
  fs::remove(record);
  fs::remove(flags.samples);
}

std::string utc_now() {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

/// Collective: `placement` of run.json, at the root.
ordered_json describe_placement(const Session& session) {
  ordered_json placement = ordered_json::array();
  for (const Place& place : session.find_placement()) {
    ordered_json entry = {{"rank", place.rank}, {"host", place.host}, {"cpus", place.cpus}};
    if (!place.leaf_switch.empty()) entry["switch"] = place.leaf_switch;
    placement.push_back(std::move(entry));
  }
  return placement;
}

/// Facts of a launch before it measures.
ordered_json describe(const Launch& launch, const std::string& workload, int argc, char** argv) {
  return {{"schema", 1},
          {"workload", workload},
          {"version", build_info::version},
          {"command", std::vector<std::string>(argv, argv + argc)},
          {"mpi", {{"standard", mpi_standard()}, {"library", mpi_library()}}},
          {"compiler",
           {{"id", build_info::compiler_id},
            {"version", build_info::compiler_version},
            {"flags", build_info::compiler_flags}}},
          {"clock",
           {{"name", "MPI_Wtime"},
            {"resolution_s", launch.clock.resolution_s},
            {"overhead_s", launch.clock.overhead_s}}},
          {"simulated", describe_simulation()},
          {"ranks", launch.session.size()},
          {"hosts", launch.session.hosts()},
          {"placement", nullptr},
          {"nodes", nullptr},
          {"start_time", utc_now()},
          {"seed", launch.flags.seed},
          {"budget_s", launch.flags.budget_s}};
}

void write_files(const Launch& launch, const ordered_json& description,
                 const ordered_json& disturbance) {
  ordered_json head = description;
  head["disturbance"] = disturbance;
  const std::string samples = launch.recorder.csv(head);
  write_whole(launch.flags.samples, samples);

  ordered_json record = head;
  record["elapsed_s"] = now() - launch.session.start();
  record.update(launch.record);
  record["samples"] = launch.recorder.seal(samples);
  record["complete"] = true;
  write_whole(record_path(launch.flags), json_text(record, 1) + '\n');
}

void run_launch(const Session& session, const CommonFlags& flags, Workload& workload, int argc,
                char** argv, const std::map<std::string, std::string>& libraries) {
  if (session.size() < workload.fewest_ranks()) {
    throw Failure(Exit::usage, "needs at least " + std::to_string(workload.fewest_ranks()) +
                                   " ranks, started with " + std::to_string(session.size()));
  }
  const bool writes = session.root() && !flags.samples.empty();
  session.agree([&] {
    require_reproducible_simulation();
    if (writes) clear_files(flags);
  });
  Launch launch{session, flags, examine_clock(), {}, ordered_json::object()};
  ordered_json description = describe(launch, workload.name(), argc, argv);
  const SentBytes sent_before = read_sent_bytes("/");
  const DisturbanceWatch watch(session);
  workload.run(launch);
  const ordered_json disturbance = watch.record();
  description["placement"] = describe_placement(session);
  launch.record["identity"] = identities_of(session, libraries);
  description["nodes"] = nodes_of(session, sent_before);
  session.agree([&] {
    if (writes) write_files(launch, description, disturbance);
  });
  if (session.root()) {
    std::printf("ROUNDTRIP COMPLETE ranks=%d hosts=%zu\n", session.size(), session.hosts().size());
  }
}

/// Prints one line even if the message has several.
void complain(const std::string& who, std::string what) {
  std::ranges::replace(what, '\n', ' ');
  std::fprintf(stderr, "%s: %s\n", who.c_str(), what.c_str());
}

}  // namespace

int run_main(int argc, char** argv, Workload& workload) {
  start_heartbeat();
  std::map<std::string, std::string> libraries;
  if constexpr (!simulated) libraries = loaded_libraries();  // MPI_Init loads plugins
  const Session session(&argc, &argv);
  try {
    CommonFlags flags;
    if (parse(argc, argv, workload, flags, session.root()) == Parsed::run) {
      run_launch(session, flags, workload, argc, argv, libraries);
    }
    return static_cast<int>(Exit::ok);
  } catch (const Failure& failure) {
    if (session.root()) complain(workload.name(), failure.what());
    return static_cast<int>(failure.code());
  } catch (const std::exception& error) {
    // Only this rank knows: the others may be waiting for it.
    complain(workload.name(), error.what());
    end_all(Exit::internal);
    return static_cast<int>(Exit::internal);
  }
}

}  // namespace roundtrip
