#include "netpipe/exact.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "core/command_loop.hpp"

namespace roundtrip::netpipe {
namespace {

constexpr int trials = 3;
constexpr double longest_message_s = 1.0;
constexpr double messages_of_warm_up = 200;

double exchange_batch(CommandLoop& loop, std::int64_t exchanges, bool verify) {
  return loop.round({{.arm = 0, .verify = verify, .timed = exchanges}}).front().front();
}

double least_time(CommandLoop& loop, Mode mode, std::int64_t exchanges) {
  const double messages = mode == Mode::pingpong ? 2 : 1;
  double least_s = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < trials; ++trial) {
    const double elapsed_s = exchange_batch(loop, exchanges, trial == 0);
    least_s = std::min(least_s, elapsed_s / static_cast<double>(exchanges) / messages);
  }
  constexpr double instead_of_zero_s = 1e-6;
  return least_s > 0 ? least_s : instead_of_zero_s;
}

void print_point(std::int64_t size, Mode mode, double one_way_s) {
  constexpr double bits_of_megabit = 1024 * 1024;
  const std::int64_t bytes = mode == Mode::bidirectional ? 2 * size : size;
  const double megabits = static_cast<double>(bytes) * 8 / (one_way_s * bits_of_megabit);
  std::printf("%8lld %f %12.8f\n", static_cast<long long>(bytes), megabits, one_way_s);
  std::fflush(stdout);
}

void lead(const ScheduleRange& range, Mode mode, CommandLoop& loop) {
  constexpr std::int64_t warm_up_exchanges = 100;
  loop.prepare({0}, range.start);
  double last_s = exchange_batch(loop, warm_up_exchanges, false) / messages_of_warm_up;
  std::int64_t last_size = range.start;
  std::int64_t last_centre = range.start;
  for (const SizePoint& point : size_schedule(range)) {
    if (point.centre != last_centre && last_s >= longest_message_s) return;
    loop.prepare({0}, point.size);
    last_s = least_time(loop, mode, repeats(last_size, point.increment, last_s));
    last_size = point.size;
    last_centre = point.centre;
    print_point(point.size, mode, last_s);
  }
}

}  // namespace

void run_exact(const ScheduleRange& range, Mode mode, const Arms& arms, MPI_Comm pair) {
  CommandLoop loop(pair, arms);
  if (!loop.leads()) return loop.follow();
  lead(range, mode, loop);
  loop.stop();
}

}  // namespace roundtrip::netpipe
