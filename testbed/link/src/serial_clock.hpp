// The time at which a wire becomes free: frames follow each other, and each takes bits / rate.
#pragma once

#include "time.hpp"

namespace rtlink {

class SerialClock {
 public:
  // `rate` in bit/s; 0: frames take no time.  Frames already on the wire keep their times.
  void set_rate(double rate);

  // Forgets the frames on the wire: it is free at `now`.
  void clear(Nanoseconds now) { free_at_ = now; }

  // Bytes queued ahead of a frame that arrives at `arrival`, at the present rate.
  [[nodiscard]] double backlog_bytes(Nanoseconds arrival) const;

  // Puts a frame on the wire; returns the time at which its last bit has left.
  Nanoseconds occupy(Nanoseconds arrival, double bits);

  [[nodiscard]] Nanoseconds free_at() const { return free_at_; }

 private:
  double rate_ = 0;
  Nanoseconds free_at_ = 0;
};

}  // namespace rtlink
