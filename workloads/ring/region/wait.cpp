#include "ring/region/wait.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace roundtrip::ring {
namespace {

long futex(Word& word, int operation, std::uint32_t value, const std::timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout,
                 nullptr, 0);
}

}  // namespace

void futex_wait(Word& word, std::uint32_t value, Timeout timeout) {
  if (timeout == forever) {
    futex(word, FUTEX_WAIT, value, nullptr);
    return;
  }
  constexpr Timeout::rep second = 1'000'000'000;
  const std::timespec span{.tv_sec = timeout.count() / second, .tv_nsec = timeout.count() % second};
  futex(word, FUTEX_WAIT, value, &span);
}

void futex_wake_all(Word& word) {
  futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace roundtrip::ring
