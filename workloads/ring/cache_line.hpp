#pragma once

#include <sched.h>

#include <atomic>

#include "core/clock.hpp"
#include "ring/shared_memory.hpp"
#include "ring/transport.hpp"

namespace roundtrip::ring {

/// The floor: one cache line goes from processor to processor, and nothing else happens. A number
/// in it says whose turn it is.
class CacheLineProbe final : public Transport {
 public:
  explicit CacheLineProbe(const Circle& circle)
      : circle_(circle),
        memory_(circle, line_pair),
        line_(*reinterpret_cast<std::atomic<std::uint64_t>*>(memory_.data())) {}

  void begin(std::size_t /*bytes*/) override {}

  LapsSeen run(const Laps& laps) override {
    LapsSeen seen;
    // The line goes on counting where it stands; between runs it is where rank 0 wants it.
    go(laps.warm);
    double start = now();
    for (std::int64_t lap = 0; laps.each && lap < laps.timed; ++lap) {
      go(1);
      const double end = now();
      seen.seconds.push_back(end - start);
      start = end;
    }
    if (!laps.each) {
      go(laps.timed);
      seen.seconds.push_back(now() - start);
    }
    return seen;
  }

 private:
  void go(std::int64_t laps) {
    const auto size = static_cast<std::uint64_t>(circle_.size());
    const bool root = circle_.rank() == 0;
    for (std::int64_t lap = 0; lap < laps; ++lap, turn_ += size) {
      const std::uint64_t mine = turn_ + static_cast<std::uint64_t>(circle_.rank());
      if (!root) await(mine);
      line_.store(mine + 1, std::memory_order_release);
      if (root) await(turn_ + size);
    }
  }

  void await(std::uint64_t number) const {
    for (int i = 0; line_.load(std::memory_order_acquire) < number; ++i) {
      if (i >= circle_.wait().spins) sched_yield();
    }
  }

  const Circle& circle_;
  SharedMemory memory_;
  std::atomic<std::uint64_t>& line_;
  std::uint64_t turn_ = 0;
};

}  // namespace roundtrip::ring
