#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/session.hpp"

namespace roundtrip {

/// Texts of the kernel's files (proc(5)); empty where a file does not exist.
struct ProcTexts {
  std::string status;   ///< /proc/self/status
  std::string sched;    ///< /proc/self/sched, only with CONFIG_SCHED_DEBUG
  std::string stat;     ///< /proc/stat
  std::string loadavg;  ///< /proc/loadavg
};

/// Counters of what may disturb a measurement; nothing where the kernel does not tell.
struct Counters {
  std::optional<std::int64_t> involuntary_context_switches;  ///< of this process, since it started
  std::optional<std::int64_t> core_migrations;               ///< of this process, since it started
  std::optional<double> steal_s;  ///< of this machine since boot, summed over its CPUs
  std::optional<std::array<double, 3>> load_average;  ///< of this machine, 1, 5 and 15 minutes
};

/// `ticks_per_second` is sysconf(_SC_CLK_TCK), the unit of /proc/stat.
Counters parse_counters(const ProcTexts& texts, double ticks_per_second);

/// The counters of this process and this machine, now.
Counters read_counters();

/// Collective: what happened on every rank between the two readings, as run.json has it (root
/// only). Steal time is added over the hosts; load averages are those of the root's host.
nlohmann::ordered_json disturbance_between(const Session& session, const Counters& start,
                                           const Counters& end);

}  // namespace roundtrip
