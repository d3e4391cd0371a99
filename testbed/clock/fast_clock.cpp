// Preloaded into a launch: the monotonic clock of the rank of Open MPI that FAST_RANK names, or of
// "all", runs 1.3 times as fast.  Other clocks and other ranks are right.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {
bool is_fast() {
  const char* fast = std::getenv("FAST_RANK");
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (fast == nullptr) return false;
  return std::strcmp(fast, "all") == 0 || (rank != nullptr && std::strcmp(fast, rank) == 0);
}
}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "clock_gettime"));
  constexpr std::int64_t second_ns = 1'000'000'000;
  const int result = real(clock, time);
  if (result == 0 && clock == CLOCK_MONOTONIC && is_fast()) {
    const std::int64_t now_ns = second_ns * time->tv_sec + time->tv_nsec;
    const std::int64_t fast_ns = now_ns + now_ns / 10 * 3;
    time->tv_sec = fast_ns / second_ns;
    time->tv_nsec = fast_ns % second_ns;
  }
  return result;
}
