// Times and durations, in nanoseconds of the monotonic clock.
#pragma once

#include <cstdint>

namespace rtlink {

using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kSecond = 1'000'000'000;
inline constexpr Nanoseconds kMicrosecond = 1'000;

}  // namespace rtlink
