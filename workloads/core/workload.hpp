#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/clock.hpp"
#include "core/recorder.hpp"
#include "core/session.hpp"

namespace roundtrip {

/// Flags of every workload.
struct CommonFlags {
  std::string samples;     ///< path of samples.csv; empty: nothing is written
  double budget_s = 40;    ///< seconds the launch may take
  std::uint32_t seed = 0;  ///< of the random order; drawn at random unless given
};

/// One run of a workload: what it may use, and what it fills in.
struct Launch {
  const Session& session;
  const CommonFlags& flags;
  ClockQuality clock;
  Recorder recorder;              ///< samples, at the root
  nlohmann::ordered_json record;  ///< the workload's own entries of run.json, at the root

  /// Seconds of the budget that are left; negative once it is spent.
  [[nodiscard]] double time_left() const { return session.start() + flags.budget_s - now(); }
};

/// A program that measures. run_main owns MPI, flags, files and exit status around it.
class Workload {
 public:
  Workload() = default;
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual int fewest_ranks() const { return 1; }

  /// Adds the workload's own flags.
  virtual void declare(CLI::App& app) = 0;

  /// Called on every rank once the flags are read; throws Failure(usage) where they do not fit.
  virtual void check_flags() {}

  /// Collective. Measures; prints for people, at the root. Throws the same Failure on every rank.
  virtual void run(Launch& launch) = 0;
};

/// Body of main(). Runs `workload`, then writes samples.csv and beside it, last, run.json. Prints
/// `ROUNDTRIP COMPLETE ranks=<np> hosts=<n>` as the last line if all went well. Returns the exit
/// status: 0; 2 after bad flags, too few ranks or a file that cannot be written; 3 after wrong
/// data. A failure is one line on standard error, from rank 0.
int run_main(int argc, char** argv, Workload& workload);

}  // namespace roundtrip
