#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace roundtrip {

/// Files `cpu.stat` of a process's cgroup and its ancestors, innermost first: each may limit CPU
/// time. `cgroup` is the text of /proc/self/cgroup, `mountinfo` that of /proc/self/mountinfo
/// (cgroups(7), proc(5)); both versions. Empty if neither version is mounted, or if no mount holds
/// the process.
std::vector<std::filesystem::path> cpu_stat_files(const std::string& cgroup,
                                                  const std::string& mountinfo);

/// Throttled time in the text of a `cpu.stat`, seconds, summed over the processors
/// (`throttled_usec` of version 2, `throttled_time` of version 1); empty if the field is missing.
std::optional<double> throttled_s(const std::string& cpu_stat);

}  // namespace roundtrip
