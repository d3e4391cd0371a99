#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/rank_clocks.hpp"
#include "core/session.hpp"

namespace roundtrip {

/// Texts of the kernel's files (proc(5), cgroups(7)); empty where a file does not exist.
struct ProcTexts {
  std::string status;                       ///< /proc/self/status
  std::string sched;                        ///< /proc/self/sched, only with CONFIG_SCHED_DEBUG
  std::string stat;                         ///< /proc/stat
  std::string loadavg;                      ///< /proc/loadavg
  std::vector<std::string> cpu_stats = {};  ///< cpu.stat of the cgroup, and of those around it
};

/// Counters of what may disturb a measurement; nothing where the kernel does not tell.
struct Counters {
  std::optional<std::int64_t> involuntary_context_switches;  ///< of this process, since it started
  std::optional<std::int64_t> voluntary_context_switches;    ///< of this process, since it started
  std::optional<std::int64_t> core_migrations;               ///< of this process, since it started
  std::optional<std::int64_t> tracer;  ///< process that traces this one (a debugger); 0: none does
  std::vector<std::optional<double>> throttled_s;  ///< of its cgroup and of those around it
  std::optional<double> steal_s;  ///< of this machine since boot, summed over its CPUs
  std::optional<std::array<double, 3>> load_average;  ///< of this machine, 1, 5 and 15 minutes
};

/// `ticks_per_second` is sysconf(_SC_CLK_TCK), the unit of /proc/stat.
Counters parse_counters(const ProcTexts& texts, double ticks_per_second);

/// The counters of this process and this machine, now.
Counters read_counters();

/// A clock of the kernel (clock_gettime(2)), seconds: of the kernel itself, whatever library stands
/// between it and the clock of the measurement.
double read_clock(clockid_t clock);

/// Seconds for which this thread was ready and had no processor, since it started; nothing where
/// the kernel does not tell (/proc/thread-self/schedstat). Cheap: the file stays open.
std::optional<double> waited_s();

/// Watches what may disturb this rank, from its construction on.
class DisturbanceWatch {
 public:
  /// Collective.
  explicit DisturbanceWatch(const Session& session);

  /// Collective: what happened on every rank since then, as run.json has it (root only; null in a
  /// simulation, whose times nothing disturbs). Steal time is added over the hosts; load averages
  /// are those of the root's host.
  [[nodiscard]] nlohmann::ordered_json record() const;

 private:
  /// Times of this thread, and of this machine's clocks, seconds.
  struct Times {
    double monotonic_s = 0;
    double boot_s = 0;       ///< goes on while the machine is suspended
    double utc_s = 0;        ///< somebody may set it
    double measuring_s = 0;  ///< of all measurements
    double cpu_s = 0;
    std::optional<double> waited_s;
  };
  static Times read_times();
  [[nodiscard]] nlohmann::ordered_json mine() const;

  const Session& session_;
  std::vector<ClockOffset> offsets_;
  Counters counters_;
  Times times_;
};

}  // namespace roundtrip
