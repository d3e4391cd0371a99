// System calls that must not fail, and the clock.
#pragma once

#include <cerrno>
#include <ctime>
#include <string>
#include <system_error>

#include "time.hpp"

namespace rtlink {

// `result`, if it is no error; std::system_error naming `what` if it is (-1).
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
