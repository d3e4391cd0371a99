// When a wire of a given rate is free: frames follow each other, and each takes bits / rate.
#pragma once

#include "time.hpp"

namespace rtlink {

class SerialClock {
 public:
  // `rate` in bit/s; 0: frames take no time.  What is already on the wire keeps its times.
  void set_rate(double rate);

  // Bytes that wait before a frame that arrives at `arrival`, at the present rate.
  [[nodiscard]] double backlog_bytes(Nanoseconds arrival) const;

  // Puts a frame on the wire; returns when its last bit has left.
  Nanoseconds occupy(Nanoseconds arrival, double bits);

  [[nodiscard]] Nanoseconds free_at() const { return free_at_; }

 private:
  double rate_ = 0;
  Nanoseconds free_at_ = 0;
};

}  // namespace rtlink
