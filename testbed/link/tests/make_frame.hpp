// Frames for tests of media: no content, only what a medium looks at.
#pragma once

#include "frame.hpp"

namespace rtlink {

inline Frame make_frame(Nanoseconds arrival, double wire_bits, std::size_t port = 0) {
  Frame frame;
  frame.arrival = arrival;
  frame.wire_bits = wire_bits;
  frame.port = port;
  return frame;
}

}  // namespace rtlink
