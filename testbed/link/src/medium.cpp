#include "medium.hpp"

#include <algorithm>
#include <cmath>

namespace rtlink {

void Loss::configure(double probability, std::uint64_t seed) {
  probability_ = probability;
  engine_.seed(seed);
}

bool Loss::next() {
  if (probability_ <= 0) return false;
  // Uses 53 bits of the engine: a std distribution may differ between standard libraries.
  constexpr double kScale = 0x1.0p-53;
  return static_cast<double>(engine_() >> 11) * kScale < probability_;
}

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
