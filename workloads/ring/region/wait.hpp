#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace roundtrip::ring {

/// A word in memory that processes share.
using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free);

/// Alignment against false sharing: two cache lines, because processors fetch lines in pairs.
inline constexpr std::size_t line_pair = 128;

using Timeout = std::chrono::nanoseconds;
inline constexpr Timeout no_wait{0};
inline constexpr Timeout forever = Timeout::max();

/// How to wait: poll `spins` times, then `yields` times, each after giving up the processor, then
/// sleep in the kernel. Data from a network takes longer and cannot wake a sleeper cheaply: there,
/// polls alternate with yields for `network_yields`.
struct WaitPolicy {
  int spins = 20'000;
  int yields = 100;
  std::chrono::milliseconds network_yields{20};
};

inline void relax_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Sleeps while `word` holds `value`, at most for `timeout`. May return early.
void futex_wait(Word& word, std::uint32_t value, Timeout timeout);

/// Wakes all that sleep on `word`, in any process.
void futex_wake_all(Word& word);

/// Polls until `look()` or `is_over()`, or as often as the policy allows before sleeping; returns
/// the last result of `look()`.
template <class Look, class IsOver>
bool look_again(const WaitPolicy& policy, Look look, IsOver is_over) {
  // A pause takes as long as a hand-over between cores: the first polls go without.
  constexpr int without_pause = 2'000;
  constexpr int spins_between_clocks = 256;
  for (int i = 0; i < policy.spins; ++i) {
    if (look()) return true;
    if (i >= without_pause) relax_processor();
    if (i % spins_between_clocks == spins_between_clocks - 1 && is_over()) return false;
  }
  for (int i = 0; i < policy.yields && !is_over(); ++i) {
    sched_yield();
    if (look()) return true;
  }
  return false;
}

/// Waits until `ready(value of word)`; false after `timeout`. Acquires what was released with the
/// value. A writer that can make the word ready must clear the bit `sleeping` in the same step and
/// call futex_wake_all if it was set.
template <class Ready>
bool await(Word& word, std::uint32_t sleeping, const WaitPolicy& policy, Timeout timeout,
           Ready ready) {
  using Clock = std::chrono::steady_clock;
  const auto look = [&] { return ready(word.load(std::memory_order_acquire)); };
  if (look()) return true;
  if (timeout == no_wait) return false;
  const auto start = timeout == forever ? Clock::time_point() : Clock::now();
  const auto is_over = [&] { return timeout != forever && Clock::now() - start >= timeout; };
  if (look_again(policy, look, is_over)) return true;
  while (true) {
    std::uint32_t value = word.load(std::memory_order_acquire);
    if (ready(value)) return true;
    if ((value & sleeping) == 0) {
      if (!word.compare_exchange_weak(value, value | sleeping, std::memory_order_relaxed)) continue;
      value |= sleeping;
    }
    if (is_over()) return false;
    futex_wait(word, value, timeout == forever ? forever : timeout - (Clock::now() - start));
  }
}

/// Numbers and positions wrap around at this; the later of two is less than half of it ahead.
inline constexpr std::uint32_t modulus = 1U << 30U;

/// An increasing number that one side posts and others await.
class Flag {
 public:
  /// Releases what was written before.
  void post(std::uint32_t number) {
    const std::uint32_t before =
        word_.exchange(number % modulus << shift, std::memory_order_acq_rel);
    if ((before & sleeping) != 0) futex_wake_all(word_);
  }

  /// Waits for this number or a later one; acquires what was written before it was posted.
  bool await(std::uint32_t number, const WaitPolicy& policy, Timeout timeout) {
    return ring::await(word_, sleeping, policy, timeout, [number](std::uint32_t value) {
      return ((value >> shift) - number) % modulus < modulus / 2;
    });
  }

 private:
  static constexpr std::uint32_t sleeping = 1;
  static constexpr std::uint32_t shift = 2;
  Word word_{0};
};

/// A position and a lock on it, in one word, so that locking costs one atomic operation.
class Cursor {
 public:
  Cursor() = default;
  explicit Cursor(std::uint32_t position) : word_(position % modulus << shift) {}

  [[nodiscard]] std::uint32_t position() const {
    return word_.load(std::memory_order_acquire) >> shift;
  }

  /// Takes the lock; returns the position, which no longer moves.
  std::uint32_t lock(const WaitPolicy& policy) {
    while (true) {
      std::uint32_t value = word_.load(std::memory_order_relaxed);
      if ((value & locked) == 0 &&
          word_.compare_exchange_weak(value, value | locked, std::memory_order_acquire)) {
        return value >> shift;
      }
      await_unlocked(policy);
    }
  }

  void await_unlocked(const WaitPolicy& policy) {
    ring::await(word_, sleeping, policy, forever,
                [](std::uint32_t value) { return (value & locked) == 0; });
  }

  /// Moves the position if it is still `from` and nobody has the lock.
  bool try_move(std::uint32_t from, std::uint32_t to) {
    std::uint32_t value = word_.load(std::memory_order_relaxed);
    if (value >> shift != from || (value & locked) != 0) return false;
    if (!word_.compare_exchange_strong(value, to % modulus << shift, std::memory_order_acq_rel)) {
      return false;
    }
    if ((value & sleeping) != 0) futex_wake_all(word_);
    return true;
  }

  /// Releases the lock and sets the position.
  void unlock_at(std::uint32_t position) {
    const std::uint32_t before =
        word_.exchange(position % modulus << shift, std::memory_order_acq_rel);
    if ((before & sleeping) != 0) futex_wake_all(word_);
  }

  /// Waits until the position is not `from`; false after `timeout`.
  bool await_move(std::uint32_t from, const WaitPolicy& policy, Timeout timeout) {
    return ring::await(word_, sleeping, policy, timeout,
                       [from](std::uint32_t value) { return value >> shift != from; });
  }

 private:
  static constexpr std::uint32_t locked = 1;
  static constexpr std::uint32_t sleeping = 2;
  static constexpr std::uint32_t shift = 2;
  Word word_{0};
};

}  // namespace roundtrip::ring
