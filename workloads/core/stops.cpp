#include "core/stops.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "core/counters.hpp"
#include "core/simulation.hpp"

namespace roundtrip {
namespace {

/// Of the type that a signal handler may write.
volatile std::sig_atomic_t continuations = 0;

void count_continuation(int /*signal*/) {
  continuations = continuations + 1;
}

/// Times of this thread, seconds, and its voluntary context switches.
struct Reading {
  double now_s = 0;
  double cpu_s = 0;
  double waited_s = 0;
  std::int64_t sleeps = 0;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Reading read() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {.now_s = read_clock(CLOCK_MONOTONIC),
          .cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .sleeps = usage.ru_nvcsw};
}

/// Not locked: only the main thread of a rank, which calls MPI, uses them.
struct Steps {
  Reading last;
  std::optional<double> longest_s;
};

Steps& steps() {
  static Steps one;
  return one;
}

}  // namespace

void watch_stops() {
  if constexpr (simulated) return;
  continuations = 0;
  steps() = {};
  struct sigaction present {};
  sigaction(SIGCONT, nullptr, &present);
  if (present.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  action.sa_handler = count_continuation;
  action.sa_flags = SA_RESTART;
  sigaction(SIGCONT, &action, nullptr);
}

void begin_steps() {
  if constexpr (simulated) return;
  steps().last = read();
  steps().last.waited_s = waited_s().value_or(0);
}

void note_step() {
  if constexpr (simulated) return;
  constexpr double noteworthy_s = 0.1;
  Steps& all = steps();
  Reading here = read();
  const double off_s = (here.now_s - all.last.now_s) - (here.cpu_s - all.last.cpu_s);
  here.waited_s = waited_s().value_or(0);
  const double idle_s = off_s - (here.waited_s - all.last.waited_s);
  const auto sleeps = static_cast<double>(std::max<std::int64_t>(1, here.sleeps - all.last.sleeps));
  const double longest_s = idle_s > noteworthy_s ? idle_s / sleeps : 0;
  all.longest_s = std::max(all.longest_s.value_or(0), longest_s);
  all.last = here;
}

Stops stops() {
  return {.continued = continuations, .longest_s = steps().longest_s};
}

}  // namespace roundtrip
