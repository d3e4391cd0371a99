// System calls that must not fail, and the clock.
#pragma once

#include <cerrno>
#include <ctime>
#include <string>
#include <system_error>

#include "time.hpp"

namespace rtlink {

// Returns `result`; throws std::system_error with `what` if it is negative.
inline int checked(int result, const std::string& what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

inline Nanoseconds clock_now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * kSecond + time.tv_nsec;
}

inline Nanoseconds now() {
  return clock_now(CLOCK_MONOTONIC);
}

}  // namespace rtlink
