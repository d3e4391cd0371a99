#include "wakeup.hpp"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include <array>
#include <csignal>

#include "system.hpp"

namespace rtlink {

namespace {
constexpr std::uint32_t kTimer = UINT32_MAX;
constexpr std::uint32_t kSignal = UINT32_MAX - 1;
constexpr int kMostEvents = 64;

Descriptor catch_signals() {
  sigset_t set{};
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  checked(::sigprocmask(SIG_BLOCK, &set, nullptr), "sigprocmask");
  return Descriptor(checked(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd"));
}
}  // namespace

Wakeup::Wakeup(Nanoseconds spin)
    : spin_(spin),
      epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll")),
      timer_(checked(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd")),
      signals_(catch_signals()) {
  watch(timer_.get(), kTimer);
  watch(signals_.get(), kSignal);
}

void Wakeup::watch(int descriptor, std::uint32_t token) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = token;
  checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

bool Wakeup::wait(std::optional<Nanoseconds> deadline,
                  const std::function<void(std::uint32_t)>& ready) {
  int patience = -1;
  if (deadline) {
    if (*deadline - now() <= spin_) {
      patience = 0;
    } else {
      arm(*deadline - spin_);
    }
  }
  std::array<epoll_event, kMostEvents> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), kMostEvents, patience);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count < 0 ? 0 : count); ++i) {
    const std::uint32_t token = events[i].data.u32;
    if (token == kSignal) return false;
    if (token == kTimer) {
      std::uint64_t expirations = 0;
      (void)!::read(timer_.get(), &expirations, sizeof expirations);
      armed_ = 0;
    } else {
      ready(token);
    }
  }
  return true;
}

void Wakeup::arm(Nanoseconds at) {
  if (at == armed_) return;
  itimerspec when{};
  when.it_value.tv_sec = at / kSecond;
  when.it_value.tv_nsec = at % kSecond;
  checked(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr), "timerfd_settime");
  armed_ = at;
}

}  // namespace rtlink
