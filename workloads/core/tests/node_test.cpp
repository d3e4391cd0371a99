#include "core/node.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace roundtrip {
namespace {

namespace fs = std::filesystem;

/// Files of /proc and /sys, in a temporary folder.
class Node : public testing::Test {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

 protected:
  Node() : root_(fs::temp_directory_path() / ("roundtrip-node-" + std::to_string(getpid()))) {
    fs::remove_all(root_);
  }
  ~Node() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] const fs::path& root() const { return root_; }

 private:
  fs::path root_;
};

TEST_F(Node, TellsWhatTheKernelTells) {
  write("proc/sys/kernel/osrelease", "5.14.0-427.el9.x86_64\n");
  write("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Example  CPU 3000\nmicrocode\t: 0xd0003d1\n\n"
        "processor\t: 1\nmodel name\t: Another\nmicrocode\t: 0x1\n\n");
  write("sys/class/dmi/id/bios_version", "  2.18.1 \n");
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  write("sys/devices/system/cpu/smt/active", "1\n");
  write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  write("proc/meminfo", "MemTotal:       131841020 kB\nMemFree: 1 kB\n");
  write("proc/sys/kernel/random/boot_id", "5e1f0c3a-0000-4000-8000-000000000001\n");
  write("sys/class/infiniband/mlx5_0/fw_ver", "20.31.1014\n");
  write("sys/class/infiniband/mlx5_0/board_id", "MT_0000000223\n");
  write("sys/bus/pci/drivers/mlx5_core/module/version", "5.8-1.1.2\n");
  fs::create_directories(root() / "sys/class/infiniband/mlx5_0/device");
  fs::create_directory_symlink(root() / "sys/bus/pci/drivers/mlx5_core",
                               root() / "sys/class/infiniband/mlx5_0/device/driver");
  write("sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  write("sys/class/infiniband/hfi1_0/hw_rev", "11\n");
  write("sys/devices/system/cpu/online", "0-3,6\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  const auto node = read_node(root());
  EXPECT_EQ(node["kernel"], "5.14.0-427.el9.x86_64");
  EXPECT_EQ(node["processor"], "Example CPU 3000");
  EXPECT_EQ(node["microcode"], "0xd0003d1");
  EXPECT_EQ(node["firmware"], "2.18.1");
  EXPECT_EQ(node["governor"], "performance");
  EXPECT_EQ(node["smt"], "on");
  EXPECT_EQ(node["memory"], "126 GiB");
  EXPECT_EQ(node["clock_source"], "tsc");
  EXPECT_EQ(node["boot"], "5e1f0c3a-0000-4000-8000-000000000001");
  ASSERT_EQ(node["adapters"].size(), 2);
  EXPECT_EQ(node["adapters"][0], "hfi1_0");
  EXPECT_EQ(node["adapters"][1],
            "mlx5_0: MT_0000000223, firmware 20.31.1014, driver mlx5_core 5.8-1.1.2, "
            "port 1 at 100 Gb/sec (4X EDR)");
  EXPECT_EQ(node["logical"], 5);
  EXPECT_EQ(node["huge_pages"], "madvise");
}

TEST_F(Node, TellsNothingWhereTheKernelTellsNothing) {
  const auto node = read_node(root());
  for (const char* name : {"kernel", "processor", "microcode", "firmware", "governor", "smt",
                           "memory", "clock_source", "boot", "logical", "huge_pages"}) {
    EXPECT_TRUE(node[name].is_null()) << name;
  }
  EXPECT_TRUE(node["adapters"].empty());
  EXPECT_TRUE(read_sent_bytes(root()).empty());
}

TEST_F(Node, OldKernelsTellThreadsOfACoreByTheirSiblings) {
  write("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,36\n");
  EXPECT_EQ(read_node(root())["smt"], "on");
  write("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n");
  EXPECT_EQ(read_node(root())["smt"], "off");
}

TEST_F(Node, CountsWhatIsSentButNotToItself) {
  write("sys/class/net/lo/statistics/tx_bytes", "999\n");
  write("sys/class/net/eth0/statistics/tx_bytes", "18446744073709551615\n");
  write("sys/class/net/ib0/statistics/tx_bytes", "no number\n");
  fs::create_directories(root() / "sys/class/net/bonding_masters");
  EXPECT_EQ(read_sent_bytes(root()), (SentBytes{{"eth0", UINT64_MAX}}));
}

TEST_F(Node, TellsWhatAnInterfaceIs) {
  write("sys/class/net/eth0/mtu", "9000\n");
  write("sys/class/net/eth0/speed", "10000\n");
  write("sys/class/net/eth0/device/vendor", "0x15b3\n");
  write("sys/class/net/docker0/mtu", "1500\n");
  write("sys/class/net/docker0/speed", "10000\n");
  EXPECT_EQ(read_interface(root(), "eth0"), "MTU 9000, 10000 Mbit/s");
  EXPECT_EQ(read_interface(root(), "docker0"), "MTU 1500");
  EXPECT_EQ(read_interface(root(), "none"), "MTU unknown");
}

TEST_F(Node, CountsNoProcessorsOfAListThatIsNone) {
  for (const char* odd : {"", "\n", "4-2\n", "x\n", "0-\n", "1,,2\n"}) {
    write("sys/devices/system/cpu/online", odd);
    EXPECT_TRUE(read_node(root())["logical"].is_null()) << odd;
  }
}

TEST_F(Node, OfOddBytesItKeepsWhatPrints) {
  write("proc/sys/kernel/osrelease", "\x01 6.1\xff\t-x \x7f\n");
  write("sys/class/dmi/id/bios_version", std::string(5000, 'x'));
  const auto node = read_node(root());
  EXPECT_EQ(node["kernel"], "6.1 -x");
  EXPECT_EQ(node["firmware"], std::string(200, 'x'));
}

TEST(ThisNode, HasAKernel) {
  EXPECT_TRUE(read_node("/")["kernel"].is_string());
}

}  // namespace
}  // namespace roundtrip
