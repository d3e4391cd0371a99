#include "serial_clock.hpp"

#include <algorithm>
#include <cmath>

namespace rtlink {

void SerialClock::set_rate(double rate) {
  rate_ = rate;
  // The backlog of a slow wire must not delay frames once the wire is infinitely fast.
  if (rate_ <= 0) free_at_ = 0;
}

double SerialClock::backlog_bytes(Nanoseconds arrival) const {
  if (rate_ <= 0 || free_at_ <= arrival) return 0;
  return static_cast<double>(free_at_ - arrival) / static_cast<double>(kSecond) * rate_ / 8;
}

Nanoseconds SerialClock::occupy(Nanoseconds arrival, double bits) {
  const Nanoseconds start = std::max(arrival, free_at_);
  const double seconds = rate_ > 0 ? bits / rate_ : 0;
  free_at_ = start + std::llround(seconds * static_cast<double>(kSecond));
  return free_at_;
}

}  // namespace rtlink
