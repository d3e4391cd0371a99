#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace roundtrip {

/// The files `cpu.stat` of the cgroup of a process and of all around it, the innermost first: any
/// of them may have a limit of CPU time. `cgroup` is the text of /proc/self/cgroup, `mountinfo`
/// that of /proc/self/mountinfo (cgroups(7), proc(5)); of both versions. Empty where neither is
/// mounted, or where what is mounted does not hold the process.
std::vector<std::filesystem::path> cpu_stat_files(const std::string& cgroup,
                                                  const std::string& mountinfo);

/// Seconds for which the cgroup of this `cpu.stat` has been throttled, summed over its processors
/// (`throttled_usec` of version 2, `throttled_time` of version 1); nothing where it has no limit.
std::optional<double> throttled_s(const std::string& cpu_stat);

}  // namespace roundtrip
