// Launches in which one rank is killed: the others end and leave nothing.
#include "ring/tests/launch.hpp"

namespace roundtrip::ring {
namespace {

/// Whether a process maps the file, which then belongs to another launch.
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

/// New files since `before` that stay unused for 3 s; files of other launches do not stay.
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

/// Starts launches that would run for a minute.
class LongLaunch : public RingLaunch {
 protected:
  static pid_t start(const std::string& line) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    return child;
  }

  /// Processes of the ranks, once all have begun to measure.
  [[nodiscard]] std::vector<pid_t> settled(const std::string& program, std::size_t count) const {
    for (int i = 0; i < 300 && processes(program).size() < count; ++i) {
      std::this_thread::sleep_for(milliseconds(50));
    }
    std::this_thread::sleep_for(milliseconds(1500));
    return processes(program);
  }
};

/// Starts a long launch, kills one rank, and expects the end of all within 5 s with nothing left.
class DeadPeer : public LongLaunch, public testing::WithParamInterface<std::string> {};

TEST_P(DeadPeer, EndsTheOthersAndLeavesNothing) {
  const bool pvm = GetParam() == "pvm";
  const std::string program = pvm ? RING_PVM : RING;
  const auto files_before = shared_memory_files();
  const std::string line =
      command(3, "--budget 60 --precision 0.0001 --end 1000 --transports " + GetParam(), program);
  const pid_t child = start(line);
  const auto ranks = settled(program, 3);
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
  EXPECT_TRUE(all_gone());
  EXPECT_EQ(leftovers(files_before), std::set<std::string>());
  for (const auto& entry : fs::directory_iterator(in("."))) {
    EXPECT_FALSE(has(entry.path().filename(), "roundtrip-pvm")) << entry.path();
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, DeadPeer, testing::Values("region", "mpi-shm", "mpi"));

#ifdef HAVE_PVM
INSTANTIATE_TEST_SUITE_P(Pvm, DeadPeer, testing::Values("pvm"));
#endif

/// The launcher is stopped first, because it would end the others as well.
TEST_F(LongLaunch, RanksEndThemselvesWithoutALauncher) {
  const pid_t child = start(command(3,
                                    "--budget 60 --precision 0.0001 --end 1000 "
                                    "--transports region",
                                    RING));
  auto ranks = settled(RING, 3);
  ASSERT_EQ(ranks.size(), 3U) << text_of(in("err"));
  std::vector<pid_t> launchers = processes("");
  std::erase_if(launchers, [&](pid_t one) { return std::ranges::count(ranks, one) != 0; });
  ASSERT_FALSE(launchers.empty());
  for (const pid_t launcher : launchers) kill(launcher, SIGSTOP);
  kill(ranks.back(), SIGKILL);
  const auto begin = std::chrono::steady_clock::now();
  while (!processes(RING).empty() && std::chrono::steady_clock::now() - begin < seconds(20)) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
  for (const pid_t launcher : launchers) kill(launcher, SIGCONT);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_NE(status, 0);
  EXPECT_TRUE(has(text_of(in("err")), " has died: rank ")) << text_of(in("err"));
}

}  // namespace
}  // namespace roundtrip::ring
