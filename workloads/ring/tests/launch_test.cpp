// Whole launches under mpirun. Timings are never looked at.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

class RingLaunch : public testing::Test {
 public:
  RingLaunch(const RingLaunch&) = delete;
  RingLaunch& operator=(const RingLaunch&) = delete;

 protected:
  RingLaunch() {
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                             "OMPI_MCA_rmaps_base_oversubscribe"}) {
      setenv(name, "1", 1);
    }
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
    std::string name = (fs::temp_directory_path() / "ring_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  ~RingLaunch() override {
    unsetenv("TMPDIR");
    fs::remove_all(folder_);
  }

  [[nodiscard]] std::string command(int ranks, const std::string& flags,
                                    const std::string& program) const {
    return "cd " + folder_.string() + " && exec timeout 60 " MPIRUN " -n " + std::to_string(ranks) +
           ' ' + program + " --samples samples.csv " + flags + " > out 2> err";
  }

  [[nodiscard]] Ended run(int ranks, const std::string& flags,
                          const std::string& program = RING) const {
    return ended(std::system(command(ranks, flags, program).c_str()));
  }

  [[nodiscard]] Ended ended(int status) const {
    return {.code = WEXITSTATUS(status), .out = text_of(in("out")), .err = text_of(in("err"))};
  }

  [[nodiscard]] fs::path in(const std::string& name) const { return folder_ / name; }

  /// Processes of this launch: those that work in its folder.
  [[nodiscard]] std::vector<pid_t> processes(const std::string& program) const {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::error_code gone;
      if (fs::read_symlink(entry.path() / "cwd", gone) != folder_ || gone) continue;
      const fs::path executable = fs::read_symlink(entry.path() / "exe", gone);
      if (!gone && (program.empty() || executable == program)) found.push_back(std::stoi(name));
    }
    return found;
  }

 private:
  fs::path folder_;
};

/// Whether some process has the file mapped: then it is no leftover, but of another launch.
bool is_in_use(const std::string& path) {
  return std::ranges::any_of(
      fs::directory_iterator("/proc"),
      [&](const fs::directory_entry& entry) { return has(text_of(entry.path() / "maps"), path); });
}

std::set<std::string> shared_memory_files() {
  std::set<std::string> paths;
  for (const auto& entry : fs::directory_iterator("/dev/shm")) paths.insert(entry.path());
  return paths;
}

/// Files that came since `before` and stay, unused, for seconds: those of other launches come and
/// go.
std::set<std::string> leftovers(const std::set<std::string>& before) {
  std::set<std::string> suspects = shared_memory_files();
  std::erase_if(suspects, [&](const std::string& path) { return before.contains(path); });
  for (int i = 0; i < 60 && !suspects.empty(); ++i) {
    std::erase_if(suspects,
                  [](const std::string& path) { return !fs::exists(path) || is_in_use(path); });
    std::this_thread::sleep_for(milliseconds(50));
  }
  return suspects;
}

TEST_F(RingLaunch, MeasuresEveryTransportAndRecordsIt) {
  const Ended ended = run(2, "--budget 1 --end 10");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(ended.out, "ROUNDTRIP COMPLETE ranks=2 hosts=1\n"));
  const std::string samples = text_of(in("samples.csv"));
  for (const char* name :
       {"cache-line", "region", "mpi", "mpi-sync", "mpi-typed", "mpi-rma", "mpi-shm"}) {
    const std::string key = std::string("\nring,2,") + name + ",10,measure,5,time_per_pass,";
    EXPECT_TRUE(has(samples, key)) << key;
  }
  const std::string record = text_of(in("run.json"));
  EXPECT_TRUE(has(record, "\"tokens\": 1"));
  EXPECT_TRUE(has(record, "\"copies\": 0"));
  EXPECT_TRUE(has(record, "\"complete\": true"));
}

TEST_F(RingLaunch, MixesMemoryAndMessagesAndMoreRanksThanProcessors) {
  const Ended ended = run(3,
                          "--budget 1 --start 100000 --end 100000 --pretend-nodes 0,0,1 "
                          "--transports region,mpi,mpi-shm");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(text_of(in("samples.csv")), "\nring,pretended 2+1,region,100000,measure,5,"));
  EXPECT_TRUE(has(ended.out, "skipped: mpi-shm: needs all ranks in one node, they are 2+1"));
  const std::string record = text_of(in("run.json"));
  EXPECT_TRUE(has(record, "\"shared\": 1,\n   \"network\": 2"));
}

TEST_F(RingLaunch, SendsRegionsByDatagramsInPiecesThatFitAFrame) {
  const Ended ended = run(3,
                          "--budget 1 --start 100000 --end 1000000 --pretend-nodes 0,0,1 "
                          "--transports region-udp --interface lo");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(text_of(in("samples.csv")), "\nring,pretended 2+1,region-udp,100000,measure,5,"));
  EXPECT_TRUE(has(text_of(in("run.json")), "\"interface\": \"lo\""));
}

TEST_F(RingLaunch, ThreeRanksOnTwoProcessorsDoNotCollapse) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two processors";
  const Ended ended =
      run(3, "--budget 1 --end 10 --processors 2 --transports cache-line,region,mpi-shm");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(text_of(in("run.json")), "\"processors_per_node\": 2"));
}

TEST_F(RingLaunch, WrongDataEndsItWithStatus3AndSaysWhere) {
  for (const auto& [name, message] : std::vector<std::pair<std::string, std::string>>{
           {"corrupt", "wrong data: transport corrupt, 10 bytes, at rank 1: byte 9 is "},
           {"stale", "wrong data: transport stale, 10 bytes, at rank "},
           {"copying", "regions were copied"}}) {
    const Ended ended = run(2, "--budget 1 --end 10 --transports mpi," + name, FAULTY);
    EXPECT_EQ(ended.code, 3) << name << ended.err;
    EXPECT_TRUE(has(ended.err, message)) << ended.err;
    EXPECT_FALSE(has(ended.out, "ROUNDTRIP COMPLETE"));
    EXPECT_FALSE(fs::exists(in("run.json")));
  }
}

TEST_F(RingLaunch, BadFlagsAreOneLineAndStatus2) {
  for (const auto& [flags, message] : std::vector<std::pair<std::string, std::string>>{
           {"--transports region,carrier-pigeon", "--transports: no transport carrier-pigeon"},
           {"--start 4", "--start: a region holds at least its counter of 8 bytes"},
           {"--pretend-nodes 0", "--pretend-nodes: names 1 ranks, started with 2"},
           {"--processors 4096", "--processors: the ranks of a node may use only "},
           {"--transports region-udp --pretend-nodes 0,1",
            "no transport can be used: needs --interface, the network between the nodes"},
           {"--transports region-udp --pretend-nodes 0,1 --interface none0",
            "--interface: none0 on "},
           {"--transports mpi-shm --pretend-nodes 0,1",
            "no transport can be used: needs all ranks in one node, they are 1+1"},
           {"--heap 8192 --start 10000 --end 10000 --budget 1",
            "comm heap of rank 0 exhausted: a region of 10000 bytes does not fit, the largest free "
            "piece of 8192 bytes has "}}) {
    const Ended ended = run(2, flags);
    EXPECT_EQ(ended.code, 2) << flags << ended.err;
    EXPECT_TRUE(has(ended.err, "ring: " + message)) << ended.err;
    EXPECT_FALSE(has(ended.out, "ROUNDTRIP COMPLETE"));
  }
}

/// Starts a long launch, kills one rank, and expects the end of all within 5 s with nothing left.
class DeadPeer : public RingLaunch, public testing::WithParamInterface<std::string> {};

TEST_P(DeadPeer, EndsTheOthersAndLeavesNothing) {
  const bool pvm = GetParam() == "pvm";
  const std::string program = pvm ? RING_PVM : RING;
  const auto files_before = shared_memory_files();
  const std::string line =
      command(3, "--budget 60 --precision 0.0001 --end 1000 --transports " + GetParam(), program);
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  for (int i = 0; i < 300 && processes(program).size() < 3; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
  }
  std::this_thread::sleep_for(milliseconds(1500));
  const auto ranks = processes(program);
  ASSERT_EQ(ranks.size(), 3U) << text_of(in("err"));
  kill(ranks.back(), SIGKILL);
  const auto start = std::chrono::steady_clock::now();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() - start > seconds(20)) kill(child, SIGTERM);
    std::this_thread::sleep_for(milliseconds(20));
  }
  const auto passed = std::chrono::steady_clock::now() - start;
  EXPECT_LT(passed, seconds(5));
  EXPECT_NE(status, 0);
  EXPECT_FALSE(has(text_of(in("out")), "ROUNDTRIP COMPLETE"));
  for (int i = 0; i < 150 && !processes("").empty(); ++i) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_TRUE(processes("").empty());
  EXPECT_EQ(leftovers(files_before), std::set<std::string>());
  for (const auto& entry : fs::directory_iterator(in("."))) {
    EXPECT_FALSE(has(entry.path().filename(), "roundtrip-pvm")) << entry.path();
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, DeadPeer, testing::Values("region", "mpi-shm", "mpi"));

#ifdef HAVE_PVM
INSTANTIATE_TEST_SUITE_P(Pvm, DeadPeer, testing::Values("pvm"));

TEST_F(RingLaunch, PvmHasADaemonOfItsOwn) {
  const Ended ended = run(2, "--budget 1 --end 10 --transports region,pvm,pvm-xdr", RING_PVM);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(text_of(in("samples.csv")), "\nring,2,pvm-xdr,10,measure,5,time_per_pass,"));
  EXPECT_TRUE(has(text_of(in("run.json")), "\"version\": \"3.4"));
  for (const auto& entry : fs::directory_iterator(in("."))) {
    EXPECT_FALSE(has(entry.path().filename(), "roundtrip-pvm")) << entry.path();
  }
}

TEST_F(RingLaunch, PvmIsSkippedBetweenNodesThatItCannotTellApart) {
  const Ended ended =
      run(2, "--budget 1 --end 10 --transports mpi,pvm --pretend-nodes 0,1", RING_PVM);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(text_of(in("run.json")), "needs a network between nodes, they are pretended"));
}

TEST_F(RingLaunch, PvmThatIsNotThereIsSaidInOneLine) {
  setenv("PVM_ROOT", "/nonexistent", 1);
  const Ended ended = run(2, "--budget 1 --transports pvm", RING_PVM);
  unsetenv("PVM_ROOT");
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(has(ended.err, "ring-pvm: pvm: no daemon /nonexistent/lib/pvmd: install PVM 3.4"))
      << ended.err;
}
#endif

}  // namespace
