// Frames for tests of media: no content, only what a medium looks at.
#pragma once

#include "frame.hpp"
#include "medium.hpp"

namespace rtlink {

inline Frame make_frame(Nanoseconds arrival, double wire_bits, std::size_t port = 0) {
  Frame frame;
  frame.arrival = arrival;
  frame.wire_bits = wire_bits;
  frame.port = port;
  return frame;
}

/// For frames made in place: Medium::offer takes a frame that is kept.
inline bool offer(Medium& medium, Frame frame) {
  return medium.offer(frame);
}

}  // namespace rtlink
