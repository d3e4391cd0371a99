#include "core/cgroup.hpp"

#include <gtest/gtest.h>

namespace roundtrip {
namespace {

using Files = std::vector<std::filesystem::path>;

/// Recorded on Debian 12, Slurm 22.05: cgroup version 2.
constexpr const char* second_mounts =
    "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw\n";
constexpr const char* second_cgroup =
    "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n";
/// Recorded on a kernel 6.18 with both versions; version 1 has the cpu controller.
constexpr const char* both_mounts =
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
constexpr const char* both_cgroups = "2:cpuacct:/\n1:cpu:/batch/job 1\n0::/\n";

TEST(Cgroup, ClimbsFromTheTaskToTheTop) {
  const std::filesystem::path top = "/sys/fs/cgroup";
  const std::filesystem::path job = top / "system.slice/slurmstepd.scope/job_7";
  EXPECT_EQ(cpu_stat_files(second_cgroup, second_mounts),
            (Files{job / "step_0/user/task_0/cpu.stat", job / "step_0/user/cpu.stat",
                   job / "step_0/cpu.stat", job / "cpu.stat", job.parent_path() / "cpu.stat",
                   top / "system.slice/cpu.stat", top / "cpu.stat"}));
}

TEST(Cgroup, ReadsBothVersionsWhereBothAreMounted) {
  const std::filesystem::path top = "/sys/fs/cgroup";
  EXPECT_EQ(cpu_stat_files(both_cgroups, both_mounts),
            (Files{top / "cpu/batch/job 1/cpu.stat", top / "cpu/batch/cpu.stat",
                   top / "cpu/cpu.stat", top / "unified/cpu.stat"}));
}

TEST(Cgroup, ReadsWhatAContainerSees) {
  const char* mounts =
      "600 580 0:33 /docker/4711 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n";
  const Files top = {"/sys/fs/cgroup/cpu,cpuacct/cpu.stat"};
  EXPECT_EQ(cpu_stat_files("4:cpu,cpuacct:/docker/4711\n", mounts), top);
  EXPECT_EQ(cpu_stat_files("4:cpu,cpuacct:/\n", mounts), top) << "a namespace of its own";
  EXPECT_EQ(cpu_stat_files("4:cpu,cpuacct:/docker/4711/x\n", mounts),
            (Files{"/sys/fs/cgroup/cpu,cpuacct/x/cpu.stat", top[0]}));
  const char* blank = "1 1 0:1 / /mnt/c\\040d rw - cgroup2 none rw\n";
  EXPECT_EQ(cpu_stat_files("0::/\n", blank), (Files{"/mnt/c d/cpu.stat"}));
}

TEST(Cgroup, ReadsNothingThatIsNotThere) {
  EXPECT_TRUE(cpu_stat_files("", "").empty());
  EXPECT_TRUE(cpu_stat_files(second_cgroup, "").empty());
  EXPECT_TRUE(cpu_stat_files("", second_mounts).empty());
  for (const char* cgroup :
       {"0::/../../other\n", "0:", "::", "0::relative\n", "1:cpu\n", "\n\n", "5:cpuset:/a\n"}) {
    EXPECT_TRUE(cpu_stat_files(cgroup, second_mounts).empty()) << cgroup;
  }
  for (const char* mounts :
       {"-\n", "30 23 0:26 / - cgroup2\n", "30 23 0:26 /a /b - cgroup2 x rw\n",
        "30 23 0:26 - cgroup2 cgroup2 rw\n", "a b c .. /x r - cgroup2 c r\n"}) {
    EXPECT_TRUE(cpu_stat_files("0::/job\n", mounts).empty()) << mounts;
  }
  std::string deep = "0::";
  for (int level = 0; level < 1000; ++level) deep += "/a";
  EXPECT_TRUE(cpu_stat_files(deep + '\n', second_mounts).empty());
}

TEST(Cgroup, TellsForHowLongItWasThrottled) {
  EXPECT_DOUBLE_EQ(throttled_s("usage_usec 7\nnr_periods 40\nnr_throttled 21\n"
                               "throttled_usec 1250000\nnr_bursts 0\n")
                       .value(),
                   1.25);
  EXPECT_DOUBLE_EQ(
      throttled_s("nr_periods 40\nnr_throttled 21\nthrottled_time 1250000000\n").value(), 1.25);
  for (const char* text :
       {"", "usage_usec 7\nuser_usec 7\n", "throttled_usec\n", "throttled_usec much\n",
        "throttled_time -4\n", "throttled_usec99 1\n"}) {
    EXPECT_FALSE(throttled_s(text)) << text;
  }
}

}  // namespace
}  // namespace roundtrip
