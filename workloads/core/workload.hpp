#pragma once

#include <string>

namespace CLI {
class App;
}

namespace roundtrip {

struct Launch;

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

  /// Called on every rank once the flags are read; throws Failure(usage) if they are invalid.
  virtual void check_flags() {}

  /// Collective. Measures; prints results at the root. Throws the same Failure on every rank.
  virtual void run(Launch& launch) = 0;
};

/// Body of main(). Runs `workload`, then writes samples.csv and, last, run.json in the same folder.
/// Prints `ROUNDTRIP COMPLETE ranks=<np> hosts=<n>` as the last line on success. Returns the exit
/// status: 0; 2 after bad flags, too few ranks or a file that cannot be written; 3 after wrong
/// data. A Failure is one line on standard error, from rank 0; other exceptions abort with 1.
int run_main(int argc, char** argv, Workload& workload);

}  // namespace roundtrip
