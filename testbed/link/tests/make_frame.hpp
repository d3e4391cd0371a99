// Frames for tests of media: no content, only the fields that a medium reads.
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

/// Offers a temporary frame: Medium::offer takes only an lvalue.
inline bool offer(Medium& medium, Frame frame) {
  return medium.offer(frame);
}

}  // namespace rtlink
