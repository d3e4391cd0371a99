#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace roundtrip {

/// Texts of the kernel's files (proc(5), cgroups(7)); empty where a file does not exist.
struct ProcTexts {
  std::string status;                       ///< /proc/self/status
  std::string sched;                        ///< /proc/self/sched, only with CONFIG_SCHED_DEBUG
  std::string stat;                         ///< /proc/stat
  std::string loadavg;                      ///< /proc/loadavg
  std::vector<std::string> cpu_stats = {};  ///< cpu.stat of the cgroup and its ancestors
};

/// Counters of possible disturbances; empty where the kernel does not report them.
struct Counters {
  std::optional<std::int64_t> involuntary_context_switches;  ///< of this process, since it started
  std::optional<std::int64_t> voluntary_context_switches;    ///< of this process, since it started
  std::optional<std::int64_t> core_migrations;               ///< of this process, since it started
  std::optional<std::int64_t> tracer;  ///< PID of the tracer of this process (a debugger), or 0
  std::vector<std::optional<double>> throttled_s;  ///< of its cgroup and the ancestors
  std::optional<double> steal_s;  ///< of this machine since boot, summed over its CPUs
  std::optional<std::array<double, 3>> load_average;  ///< of this machine, 1, 5 and 15 minutes
};

/// `ticks_per_second` is sysconf(_SC_CLK_TCK), the unit of /proc/stat.
Counters parse_counters(const ProcTexts& texts, double ticks_per_second);

/// The counters of this process and this machine, now.
Counters read_counters();

/// A clock of the kernel (clock_gettime(2)), seconds; by system call, because a library may
/// replace the C function.
double read_clock(clockid_t clock);

/// Seconds that this thread has waited for a processor since its start; empty if the kernel does
/// not report it (/proc/thread-self/schedstat). Cheap: the file stays open.
std::optional<double> waited_s();

/// Watches this rank by the kernel's counters, from construction on, without MPI.
class RankWatch {
 public:
  RankWatch();

  /// The counters at construction.
  [[nodiscard]] const Counters& start() const { return counters_; }

  /// Disturbances since construction, in the names of run.json, with `steal_s` and `load_average`
  /// of this machine.
  [[nodiscard]] nlohmann::ordered_json record() const;

 private:
  /// Times of this thread, and of this machine's clocks, seconds.
  struct Times {
    double monotonic_s = 0;
    double boot_s = 0;  ///< advances while the machine is suspended
    double utc_s = 0;   ///< may be set meanwhile
    double cpu_s = 0;
    std::optional<double> waited_s;
  };
  static Times read_times();

  Counters counters_;
  Times times_;
};

}  // namespace roundtrip
