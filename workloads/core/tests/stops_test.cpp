#include "core/stops.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include "core/disturbance.hpp"

namespace roundtrip {
namespace {

void work(double seconds) {
  const double end = read_clock(CLOCK_MONOTONIC) + seconds;
  while (read_clock(CLOCK_MONOTONIC) < end) {
  }
}

/// Stops of a child process that works in steps and is stopped for `stopped_s` seconds.
Stops stops_of_child(double stopped_s) {
  std::array<int, 2> pipe_ends{};
  EXPECT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    watch_stops();
    begin_steps();
    for (int step = 0; step < 5; ++step) {
      work(0.04);
      if (step == 2 && stopped_s > 0) raise(SIGSTOP);
      note_step();
    }
    const Stops found = stops();
    _exit(write(pipe_ends[1], &found, sizeof found) == sizeof found ? 0 : 1);
  }
  int ended = 0;
  if (stopped_s > 0) {
    waitpid(child, &ended, WUNTRACED);
    EXPECT_TRUE(WIFSTOPPED(ended));
    std::this_thread::sleep_for(std::chrono::duration<double>(stopped_s));
    kill(child, SIGCONT);
  }
  Stops found;
  EXPECT_EQ(read(pipe_ends[0], &found, sizeof found), static_cast<ssize_t>(sizeof found));
  waitpid(child, &ended, 0);
  EXPECT_EQ(ended, 0);
  return found;
}

TEST(Stops, SeesAProcessThatWasStopped) {
  const Stops found = stops_of_child(0.6);
  EXPECT_EQ(found.continued, 1);
  EXPECT_GT(found.longest_s.value(), 0.2);
}

TEST(Stops, SeesNothingInAProcessThatWorks) {
  const Stops found = stops_of_child(0);
  EXPECT_EQ(found.continued, 0);
  EXPECT_LT(found.longest_s.value(), 0.2) << "waiting for a processor is no stop";
}

TEST(Stops, OfNothingThatHasNoSteps) {
  watch_stops();
  EXPECT_FALSE(stops().longest_s);
}

}  // namespace
}  // namespace roundtrip
