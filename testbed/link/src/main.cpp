// roundtrip-link: an emulated link between network interfaces, for kernels without netem.
// Exit status: 0 after SIGTERM or SIGINT, 1 after an error, 2 for bad options.
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <exception>
#include <iostream>

#include "engine.hpp"
#include "options.hpp"

namespace {
// Locks memory, sets the least timer slack, and sets SCHED_FIFO with `priority` unless it is 0.
// Ignores errors of the system.  Returns whether this process now runs under SCHED_FIFO.
bool schedule_promptly(int priority) {
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  ::mlockall(MCL_CURRENT);
  if (priority == 0) return false;
  sched_param parameters{};
  parameters.sched_priority = priority;
  return ::sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
}
}  // namespace

int main(int argc, char** argv) {
  const auto parsed = rtlink::parse_options({argv + 1, argv + argc});
  if (const auto* wrong = std::get_if<std::string>(&parsed)) {
    std::cerr << "roundtrip-link: " << *wrong << '\n';
    return 2;
  }
  try {
    const auto& options = std::get<rtlink::Options>(parsed);
    const bool fifo = schedule_promptly(options.fifo);
    rtlink::Engine(options, fifo).run();
  } catch (const std::exception& error) {
    std::cerr << "roundtrip-link: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
