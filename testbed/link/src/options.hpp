// The command line: roundtrip-link wire|hub PORT PORT [PORT...] [--fifo N] [--spin-us N] [--control
// PATH]
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "system.hpp"

namespace rtlink {

struct Options {
  bool hub = false;
  std::vector<std::string> ports;        // names of network interfaces
  int fifo = 0;                          // SCHED_FIFO priority; 0: default scheduling
  Nanoseconds spin = 60 * kMicrosecond;  // busy-wait this long before a frame is due
  std::string control;                   // path of the control socket; empty: no socket
};

// Returns the options, or an error message.  `arguments` begin after the program's name.
std::variant<Options, std::string> parse_options(std::span<const char* const> arguments);

}  // namespace rtlink
