#include "core/stops.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include "core/counters.hpp"

namespace roundtrip {
namespace {

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

void work(double seconds) {
  const double end = read_clock(CLOCK_MONOTONIC) + seconds;
  while (read_clock(CLOCK_MONOTONIC) < end) {
  }
}

/// A rank: a process in a group of its own that works for a second, then tells its stops.
class Rank {
 public:
  explicit Rank(bool has_heartbeat = true) {
    EXPECT_EQ(pipe(ends_.data()), 0);
    process_ = fork();
    if (process_ == 0) run(has_heartbeat);
    close(ends_[1]);
    char begun = 0;
    EXPECT_EQ(read(ends_[0], &begun, 1), 1);
  }
  /// With its heartbeat, as the freezer stops a cgroup.
  void stop_group(double seconds) const { stop(-process_, seconds); }
  void stop_alone(double seconds) const { stop(process_, seconds); }
  [[nodiscard]] Stops end() const {
    Stops found;
    EXPECT_EQ(read(ends_[0], &found, sizeof found), static_cast<ssize_t>(sizeof found));
    int ended = 0;
    waitpid(process_, &ended, 0);
    EXPECT_EQ(ended, 0);
    return found;
  }
  /// Whether a process of its group is left after `end`, even one that nobody waits for.
  [[nodiscard]] bool has_left_a_process() const { return kill(-process_, 0) == 0; }

 private:
  [[noreturn]] void run(bool has_heartbeat) const {
    setpgid(0, 0);
    if (has_heartbeat) start_heartbeat();
    watch_stops();
    [[maybe_unused]] const auto begun = write(ends_[1], "b", 1);
    work(1);
    sleep_s(0.2);  // the heartbeat runs on a machine with one processor, too
    const Stops found = stops();
    const auto written = write(ends_[1], &found, sizeof found);
    std::exit(written == sizeof found ? 0 : 1);
  }
  static void stop(pid_t target, double seconds) {
    sleep_s(0.2);
    kill(target, SIGSTOP);
    sleep_s(seconds);
    kill(target, SIGCONT);
  }

  std::array<int, 2> ends_{};
  pid_t process_ = 0;
};

TEST(Stops, OfAGroup) {
  const Rank rank;
  rank.stop_group(0.7);
  const Stops found = rank.end();
  EXPECT_EQ(found.continued, 1);
  EXPECT_GT(found.longest_s.value(), 0.4);
}

TEST(Stops, OfARankAlone) {
  const Rank rank;
  rank.stop_alone(0.7);
  const Stops found = rank.end();
  EXPECT_EQ(found.continued, 1);
  EXPECT_LT(found.longest_s.value(), 0.4);
}

TEST(Stops, NoneInAProcessThatWorks) {
  const Rank rank;
  const Stops found = rank.end();
  EXPECT_EQ(found.continued, 0);
  EXPECT_LT(found.longest_s.value(), 0.4) << "waiting for a processor is no stop";
  EXPECT_FALSE(rank.has_left_a_process());
}

TEST(Stops, UnknownWithoutAHeartbeat) {
  const Rank rank(false);
  EXPECT_FALSE(rank.end().longest_s);
}

}  // namespace
}  // namespace roundtrip
