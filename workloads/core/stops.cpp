#include "core/stops.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "core/counters.hpp"
#include "core/simulation.hpp"

namespace roundtrip {
namespace {

/// Of the type that a signal handler may write.
volatile std::sig_atomic_t continuations = 0;

void count_continuation(int /*signal*/) {
  continuations = continuations + 1;
}

/// Closes what this process inherited: a launcher waits for the end of each pipe.
void close_files() {
  std::vector<int> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", none)) {
    files.push_back(std::stoi(entry.path().filename().string()));
  }
  for (const int file : files) close(file);
}

/// The child process, and the longest gap that it wrote to memory that both share.
class Heartbeat {
 public:
  explicit Heartbeat(std::atomic<double>& longest_s)
      : longest_s_(longest_s), parent_(getpid()), child_(fork()) {
    if (child_ == 0) beat();
  }
  /// Not in a copy of the rank (fork(2)), whose child it is not.
  ~Heartbeat() {
    if (child_ < 0 || getpid() != parent_) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void reset() { longest_s_ = 0; }
  /// Empty if the child could not be made, or ended.
  std::optional<double> longest_s() {
    if (child_ > 0 && waitpid(child_, nullptr, WNOHANG) != 0) child_ = -1;
    if (child_ < 0) return std::nullopt;
    return longest_s_;
  }

 private:
  [[noreturn]] void beat() {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent_) _exit(0);
    prctl(PR_SET_NAME, "rt-heartbeat");
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    close_files();
    [[maybe_unused]] const int moved = chdir("/");  // holds no folder in use
    constexpr timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
    constexpr double pause_s = 0.1;
    while (const auto waited_before_s = waited_s()) {  // unknown: late for whatever reason
      const double start_s = read_clock(CLOCK_MONOTONIC);
      clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
      const double late_s = read_clock(CLOCK_MONOTONIC) - start_s - pause_s;
      const double gap_s = late_s - (waited_s().value_or(0) - *waited_before_s);
      if (gap_s > longest_s_) longest_s_ = gap_s;
    }
    _exit(0);
  }

  std::atomic<double>& longest_s_;
  pid_t parent_;
  pid_t child_;
};

/// Empty until start_heartbeat(), and where memory cannot be shared or processes not be made.
std::optional<Heartbeat>& heartbeat() {
  static std::optional<Heartbeat> one;
  return one;
}

}  // namespace

void start_heartbeat() {
  if constexpr (simulated) return;
  void* const page = mmap(nullptr, sizeof(std::atomic<double>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  heartbeat().emplace(*new (page) std::atomic<double>(0));
}

void watch_stops() {
  if constexpr (simulated) return;
  continuations = 0;
  if (heartbeat()) heartbeat()->reset();
  struct sigaction present {};
  sigaction(SIGCONT, nullptr, &present);
  if (present.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  action.sa_handler = count_continuation;
  action.sa_flags = SA_RESTART;
  sigaction(SIGCONT, &action, nullptr);
}

Stops stops() {
  return {.continued = continuations,
          .longest_s = heartbeat() ? heartbeat()->longest_s() : std::nullopt};
}

}  // namespace roundtrip
