#pragma once

#include <sched.h>

#include <atomic>

#include "core/clock.hpp"
#include "ring/shared_memory.hpp"
#include "ring/transport.hpp"

namespace roundtrip::ring {

/// Lower bound: one cache line moves one way, from the processor that writes it to the one that
/// polls it. Each rank polls a line that only its predecessor writes, as in any queue; a line that
/// both write is faster where a read also acquires ownership.
class CacheLineProbe final : public Transport {
 public:
  explicit CacheLineProbe(const Topology& topology)
      : topology_(topology),
        memory_(topology, line_pair * static_cast<std::size_t>(topology.size())),
        mine_(line_of(topology.rank())),
        next_(line_of(topology.next())) {}

  void begin(std::size_t /*bytes*/) override {}

  LapsSeen run(const Laps& laps) override {
    LapsSeen seen;
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
    go(laps.closing);
    return seen;
  }

 private:
  using Line = std::atomic<std::uint64_t>;

  [[nodiscard]] Line& line_of(int rank) const {
    return *reinterpret_cast<Line*>(memory_.data() + line_pair * static_cast<std::size_t>(rank));
  }

  void go(std::int64_t laps) {
    const bool root = topology_.rank() == 0;
    for (std::int64_t lap = 0; lap < laps; ++lap) {
      ++lap_;
      if (!root) await(lap_);
      next_.store(lap_, std::memory_order_release);
      if (root) await(lap_);
    }
  }

  void await(std::uint64_t lap) const {
    for (int i = 0; mine_.load(std::memory_order_acquire) < lap; ++i) {
      if (i >= topology_.wait().spins) sched_yield();
    }
  }

  const Topology& topology_;
  SharedMemory memory_;
  Line& mine_;
  Line& next_;
  std::uint64_t lap_ = 0;
};

}  // namespace roundtrip::ring
