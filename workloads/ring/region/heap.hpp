#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/failure.hpp"
#include "ring/region/wait.hpp"

namespace roundtrip::ring {

/// Misuse of a region, or an exhausted heap; the message gives details.
class RegionError : public Failure {
 public:
  enum class Kind { heap_exhausted, freed_twice, given_away, not_a_region };
  RegionError(Kind kind, const std::string& what)
      : Failure(kind == Kind::heap_exhausted ? Exit::usage : Exit::internal, what), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// Head of a block. It shares its cache line with the first bytes of the region, so that one
/// transfer moves both.
struct Block {
  enum class State : std::uint32_t { live = 0x4c495645, free = 0x46524545 };
  std::atomic<std::uint32_t> references{0};
  std::atomic<State> state{State::free};
  std::uint64_t bytes = 0;  ///< of the region if live; of the whole block if free
  std::uint64_t next = 0;   ///< if free: position of the next free block; if live: first bytes

  /// Adds a reference to the region, for another holder.
  void share() { references.fetch_add(1, std::memory_order_relaxed); }

  /// Whether there is only one holder; acquires the writes of earlier holders.
  [[nodiscard]] bool sole() const { return references.load(std::memory_order_acquire) == 1; }
};

/// The comm heap of one process: memory mapped by all processes of the node, perhaps at different
/// addresses. Any of them may free what the owner allocated. First fit; free neighbours are joined.
/// This object is at the start of that memory.
class Heap {
 public:
  /// Bytes between the beginning of a block and its region.
  static constexpr std::size_t head_bytes = 16;
  static constexpr std::size_t alignment = line_pair;

  /// Bytes of a heap for `regions` regions of `region_bytes` in total.
  static std::size_t bytes_for(std::size_t region_bytes, std::size_t regions);

  /// Turns the `total` bytes from `this` into a heap. `owner`: its process, for messages.
  void initialise(std::size_t total, int owner);

  /// Allocates a region with one reference; returns the offset of its bytes from `this`. Throws
  /// RegionError(heap_exhausted).
  std::uint64_t allocate(std::size_t bytes, const WaitPolicy& policy);

  /// Gives up one reference to the region; the last one frees it. Throws RegionError(freed_twice).
  void release(std::uint64_t region, const WaitPolicy& policy);

  [[nodiscard]] std::size_t total() const { return total_; }
  /// Free bytes, in one block or several.
  std::size_t free_bytes(const WaitPolicy& policy);

 private:
  static constexpr std::uint64_t none = 0;

  template <class T>
  T& at(std::uint64_t position) {
    return *reinterpret_cast<T*>(reinterpret_cast<std::byte*>(this) + position);
  }
  Block& block_of(std::uint64_t region) { return at<Block>(region - head_bytes); }
  void insert(std::uint64_t position, std::uint64_t size);

  alignas(line_pair) Cursor lock_;
  std::uint64_t first_free_ = none;
  std::uint64_t total_ = 0;
  int owner_ = 0;
};

}  // namespace roundtrip::ring
