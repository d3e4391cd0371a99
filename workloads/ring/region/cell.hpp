#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "ring/region/wait.hpp"

namespace roundtrip::ring {

/// Location of a region: `offset` from the start of the node's comm space, the same in every
/// process.
struct Descriptor {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

enum class Put { done, full, timeout };

/// A queue of regions in shared memory, for any number of producers and consumers. Producers write
/// the cache line of a descriptor and consumers only read it: a hand-over moves that line and no
/// other. A cell has a reference to each region in it.
class Cell {
 public:
  static constexpr std::uint32_t capacity = 64;
  static_assert(modulus % capacity == 0);

  /// An empty cell; `start` is the position of the first region.
  explicit Cell(std::uint32_t start = 0) : tail_(start), head_seen_(start), head_(start) {
    // Each slot shows the position that it would have had one turn earlier.
    for (std::uint32_t i = 0; i < capacity; ++i)
      slot(start + i).flag.post(start + i + 1 - capacity);
  }

  /// Appends. If full: `full` at once with no_wait, else `timeout` if no region leaves in time.
  Put enqueue(Descriptor region, const WaitPolicy& policy, Timeout timeout) {
    while (true) {
      const std::uint32_t tail = tail_.position();
      if (!room_at(tail)) {
        const std::uint32_t head = head_seen_.load(std::memory_order_relaxed);
        // If the tail has moved, `tail` is older than `head`.
        if (tail_.position() != tail) continue;
        if (timeout == no_wait) return Put::full;
        if (!head_.await_move(head, policy, timeout)) return Put::timeout;
      } else if (tail_.try_move(tail, tail + 1)) {
        publish(tail, region);
        return Put::done;
      } else {
        tail_.await_unlocked(policy);
      }
    }
  }

  /// Takes out the oldest region; empty after `timeout`, which restarts whenever another process
  /// was faster. `glimpse(offset)` is called before it is certain which process gets the region.
  template <class Glimpse>
  std::optional<Descriptor> dequeue(const WaitPolicy& policy, Timeout timeout, Glimpse glimpse) {
    while (true) {
      const std::uint32_t head = head_.position();
      if (slot(head).flag.await(head + 1, policy, timeout)) {
        const Descriptor region = slot(head).load();
        glimpse(region.offset);
        // If the head has not moved, the slot has not changed either.
        if (head_.try_move(head, head + 1)) return region;
        head_.await_unlocked(policy);
      } else if (head_.position() == head) {
        return std::nullopt;
      }
    }
  }
  std::optional<Descriptor> dequeue(const WaitPolicy& policy, Timeout timeout) {
    return dequeue(policy, timeout, [](std::uint64_t) {});
  }

  /// Reads the oldest region without taking it out; `share(Descriptor)` is called while it cannot
  /// leave.
  template <class Share>
  std::optional<Descriptor> read(const WaitPolicy& policy, Timeout timeout, Share share) {
    while (true) {
      const std::uint32_t seen = head_.position();
      if (slot(seen).flag.await(seen + 1, policy, timeout)) {
        const std::uint32_t head = head_.lock(policy);
        if (head != seen) {
          head_.unlock_at(head);
          continue;
        }
        const Descriptor region = slot(head).load();
        share(region);
        head_.unlock_at(head);
        return region;
      }
      if (head_.position() == seen) return std::nullopt;
    }
  }

  /// Replaces all regions in the cell by this one; `drop(Descriptor)` is called for each of them.
  template <class Drop>
  void replace(Descriptor region, const WaitPolicy& policy, Drop drop) {
    const std::uint32_t tail = tail_.lock(policy);
    const std::uint32_t head = head_.lock(policy);
    for (std::uint32_t i = head; i != tail; i = (i + 1) % modulus) {
      slot(i).flag.await(i + 1, policy, forever);
      drop(slot(i).load());
    }
    head_.unlock_at(tail);
    head_seen_.store(tail, std::memory_order_release);
    // In this order: a head past the tail would look like a full queue.
    tail_.unlock_at(tail + 1);
    publish(tail, region);
  }

 private:
  struct alignas(line_pair) Slot {
    Flag flag;  ///< position + 1 once the region of that position is in the slot
    std::atomic<std::uint64_t> offset;
    std::atomic<std::uint64_t> bytes;

    [[nodiscard]] Descriptor load() const {
      return {.offset = offset.load(std::memory_order_relaxed),
              .bytes = bytes.load(std::memory_order_relaxed)};
    }
  };

  Slot& slot(std::uint32_t position) { return slots_[position % capacity]; }

  bool room_at(std::uint32_t tail) {
    const auto room = [tail](std::uint32_t head) { return (tail - head) % modulus < capacity; };
    if (room(head_seen_.load(std::memory_order_acquire))) return true;
    const std::uint32_t head = head_.position();
    head_seen_.store(head, std::memory_order_release);
    return room(head);
  }

  void publish(std::uint32_t position, Descriptor region) {
    Slot& here = slot(position);
    here.offset.store(region.offset, std::memory_order_relaxed);
    here.bytes.store(region.bytes, std::memory_order_relaxed);
    here.flag.post(position + 1);
  }

  alignas(line_pair) Cursor tail_;
  std::atomic<std::uint32_t> head_seen_;  ///< earlier head_, read instead to spare its cache line
  alignas(line_pair) Cursor head_;
  std::array<Slot, capacity> slots_{};
};

}  // namespace roundtrip::ring
