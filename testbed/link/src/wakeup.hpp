// Sleeps until a frame or a command arrives, a signal is caught, or a frame is due.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "system.hpp"

namespace rtlink {

class Wakeup {
 public:
  // Polls instead of sleeping during the last `spin` before a deadline.
  explicit Wakeup(Nanoseconds spin);

  // `wait` reports the descriptor by `token`.
  void watch(int descriptor, std::uint32_t token);

  // Calls `ready` with the token of each readable descriptor; returns false after SIGTERM or
  // SIGINT.
  bool wait(std::optional<Nanoseconds> deadline, const std::function<void(std::uint32_t)>& ready);

 private:
  void arm(Nanoseconds at);

  Nanoseconds spin_;
  Nanoseconds armed_ = 0;
  Descriptor epoll_;
  Descriptor timer_;
  Descriptor signals_;
};

}  // namespace rtlink
