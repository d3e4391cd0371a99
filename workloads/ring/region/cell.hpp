#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ring/region/wait.hpp"

namespace roundtrip::ring {

/// Where a region is: `offset` from the beginning of the node's comm space, the same in every
/// process.
struct Descriptor {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

enum class Put { done, full, timeout };

/// A queue of regions in shared memory, for any number of processes at either end. The line that
/// carries a descriptor is written by who puts and only read by who gets: handing a region over
/// moves one cache line. A cell has a reference to each region in it.
class Cell {
 public:
  static constexpr std::uint32_t capacity = 4;
  static_assert(modulus % capacity == 0);

  /// An empty cell; `start` is the position of the first region.
  explicit Cell(std::uint32_t start = 0) : tail_(start), head_seen_(start), head_(start) {
    // Each slot shows the position that it would have had one turn earlier.
    for (std::uint32_t i = 0; i < capacity; ++i)
      slot(start + i).flag.post(start + i + 1 - capacity);
  }

  /// Appends. `full` at once with no_wait, else `timeout` if there was no room for so long.
  Put enqueue(Descriptor region, const WaitPolicy& policy, Timeout timeout) {
    while (true) {
      const std::uint32_t tail = tail_.lock(policy);
      if (tail_room(tail)) {
        publish(tail, region);
        return Put::done;
      }
      const std::uint32_t head = head_seen_;
      tail_.unlock_at(tail);
      if (timeout == no_wait) return Put::full;
      if (!head_.await_move(head, policy, timeout)) return Put::timeout;
    }
  }

  /// Takes out the oldest region; nothing if none came in time. The time begins anew whenever
  /// another process was quicker.
  std::optional<Descriptor> dequeue(const WaitPolicy& policy, Timeout timeout) {
    return front(policy, timeout, [](const Descriptor&) { return true; });
  }

  /// Looks at the oldest region without taking it out; `share(Descriptor)` is called while it
  /// cannot go away.
  template <class Share>
  std::optional<Descriptor> read(const WaitPolicy& policy, Timeout timeout, Share share) {
    return front(policy, timeout, [&share](const Descriptor& region) {
      share(region);
      return false;
    });
  }

  /// Replaces all regions in the cell by this one; `drop(Descriptor)` is called for each of them.
  template <class Drop>
  void replace(Descriptor region, const WaitPolicy& policy, Drop drop) {
    const std::uint32_t tail = tail_.lock(policy);
    const std::uint32_t head = head_.lock(policy);
    for (std::uint32_t i = head; i != tail; i = (i + 1) % modulus) drop(slot(i).region);
    head_.unlock_at(tail);
    head_seen_ = tail;
    publish(tail, region);
  }

 private:
  struct alignas(line_pair) Slot {
    Flag flag;  ///< shows position + 1 once the region of that position is there
    Descriptor region;
  };

  Slot& slot(std::uint32_t position) { return slots_[position % capacity]; }

  bool tail_room(std::uint32_t tail) {
    const auto used = [&] { return (tail - head_seen_) % modulus; };
    if (used() >= capacity) head_seen_ = head_.position();
    return used() < capacity;
  }

  void publish(std::uint32_t tail, Descriptor region) {
    slot(tail).region = region;
    slot(tail).flag.post(tail + 1);
    tail_.unlock_at(tail + 1);
  }

  template <class Take>
  std::optional<Descriptor> front(const WaitPolicy& policy, Timeout timeout, Take take) {
    while (true) {
      const std::uint32_t head = head_.position();
      if (!slot(head).flag.await(head + 1, policy, timeout)) {
        if (head_.position() == head) return std::nullopt;
        continue;
      }
      if (!head_.try_lock_at(head)) {
        head_.await_unlocked(policy);
        continue;
      }
      const Descriptor region = slot(head).region;
      head_.unlock_at(take(region) ? head + 1 : head);
      return region;
    }
  }

  alignas(line_pair) Cursor tail_;
  std::uint32_t head_seen_;  ///< under the lock of tail_: what head_ was, to leave its line alone
  alignas(line_pair) Cursor head_;
  std::array<Slot, capacity> slots_{};
};

}  // namespace roundtrip::ring
