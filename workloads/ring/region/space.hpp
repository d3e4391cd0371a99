#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "ring/region/cell.hpp"
#include "ring/region/heap.hpp"

/// Cooperative Data Sharing between the processes of one node, after DiNucci, "Cooperative Data
/// Sharing: a layered approach" (MPI Developer's Conference 1996): each process has a comm heap,
/// whose regions it reads and writes like any memory, and cells, which are queues of regions.
/// Regions move whole, by reference.
namespace roundtrip::ring {

/// A cell of a process (`member` of the node).
struct CellAddress {
  int member = 0;
  int number = 0;
};

/// Dimensions of a comm space.
struct Layout {
  int members = 1;
  int cells = 1;               ///< of each member
  std::size_t heap_bytes = 0;  ///< of each member
};

/// Memory mapped by all processes of a node: every member's cells and comm heap.
class Space {
 public:
  static std::size_t bytes(const Layout& layout);

  /// `base`: address in this process, aligned to line_pair. One process calls `initialise`, once,
  /// before any other uses the space.
  Space(std::byte* base, const Layout& layout) : base_(base), layout_(layout) {}
  void initialise() const;

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] Cell& cell(CellAddress address) const {
    return reinterpret_cast<Cell*>(base_)[address.member * layout_.cells + address.number];
  }
  [[nodiscard]] Heap& heap(int member) const;
  [[nodiscard]] std::byte* at(std::uint64_t offset) const { return base_ + offset; }
  /// Offset of an address in this memory.
  [[nodiscard]] std::uint64_t offset_of(const void* address) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_);
  }
  /// The head of the region at this offset.
  [[nodiscard]] Block& block(std::uint64_t offset) const {
    return *reinterpret_cast<Block*>(at(offset - Heap::head_bytes));
  }
  /// Gives up one reference to the region at this offset. Throws RegionError(freed_twice).
  void release(std::uint64_t offset, const WaitPolicy& policy) const;

 private:
  std::byte* base_;
  Layout layout_;
};

/// A reference to a region, held by one process and released by the destructor. Not copyable;
/// Member::share makes another.
class Region {
 public:
  Region() = default;
  Region(Region&& other) noexcept { *this = std::move(other); }
  Region& operator=(Region&& other) noexcept {
    if (this == &other) return *this;
    if (held()) drop();
    space_ = other.space_;
    policy_ = other.policy_;
    where_ = other.where_;
    given_to_ = other.given_to_;
    state_ = std::exchange(other.state_, State::empty);
    return *this;
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    if (held()) drop();
  }

  /// The bytes, in place. Write to them only after Member::modify, unless the region is new.
  [[nodiscard]] std::span<char> bytes() const;
  /// Offset in the comm space; the same in all processes of the node.
  [[nodiscard]] std::uint64_t offset() const { return where_.offset; }
  [[nodiscard]] bool held() const { return state_ == State::held; }

 private:
  friend class Member;
  enum class State : std::uint8_t { empty, held, given_away, freed };
  Region(const Space* space, Descriptor where, const WaitPolicy* policy)
      : space_(space), policy_(policy), where_(where), state_(State::held) {}
  /// Throws RegionError(given_away | freed_twice | not_a_region) unless it is held.
  void require_held(const char* use) const {
    if (state_ != State::held) complain(use);
  }
  [[noreturn]] void complain(const char* use) const;
  /// Throws what Space::release throws.
  void give_back();
  void drop() noexcept;

  const Space* space_ = nullptr;
  const WaitPolicy* policy_ = nullptr;
  Descriptor where_;
  CellAddress given_to_;
  State state_ = State::empty;
};

/// A comm space as seen by one process or thread, and its operations; CDS calls in parentheses.
/// They throw RegionError, which names the region, if a region argument is not held.
class Member {
 public:
  Member(Space space, int member, WaitPolicy policy)
      : space_(space), member_(member), policy_(policy) {}

  /// A new region in this process's comm heap (rgalloc). Throws RegionError(heap_exhausted).
  Region allocate(std::size_t bytes);
  /// Releases the region before its destructor (rgfree).
  static void free(Region& region);
  /// Hands the region over; after Put::done it is no longer held here (enq with no_wait, benq).
  Put put(CellAddress cell, Region& region, Timeout timeout = forever);
  /// Hands the region over, in place of all regions in the cell (write).
  void replace(CellAddress cell, Region& region);
  /// Takes the oldest region out of the cell; empty after `timeout` (deq).
  std::optional<Region> get(CellAddress cell, Timeout timeout = forever);
  /// Shares the oldest region, which stays in the cell, for reading; empty after `timeout` (read).
  std::optional<Region> read(CellAddress cell, Timeout timeout = forever);
  /// The same region for a second holder.
  Region share(const Region& region);
  /// Makes the region writable for this holder: copies it only if it is shared (rgmod).
  void modify(Region& region);

  [[nodiscard]] const Space& space() const { return space_; }
  [[nodiscard]] const WaitPolicy& policy() const { return policy_; }
  /// Regions that modify() had to copy.
  [[nodiscard]] std::int64_t copies() const { return copies_; }

 private:
  void copy(Region& region);

  Space space_;
  int member_;
  WaitPolicy policy_;
  std::int64_t copies_ = 0;
};

// These four functions are on the path of every hand-over.

inline std::span<char> Region::bytes() const {
  require_held("used");
  return {reinterpret_cast<char*>(space_->at(where_.offset)), where_.bytes};
}

inline Put Member::put(CellAddress cell, Region& region, Timeout timeout) {
  region.require_held("passed");
  const Put answer = space_.cell(cell).enqueue(region.where_, policy_, timeout);
  if (answer == Put::done) {
    region.state_ = Region::State::given_away;
    region.given_to_ = cell;
  }
  return answer;
}

inline std::optional<Region> Member::get(CellAddress cell, Timeout timeout) {
  // The consumer will most likely write to the region: prefetch its first line for that.
  const auto where = space_.cell(cell).dequeue(
      policy_, timeout, [this](std::uint64_t offset) { __builtin_prefetch(space_.at(offset), 1); });
  if (!where) return std::nullopt;
  return Region(&space_, *where, &policy_);
}

inline void Member::modify(Region& region) {
  region.require_held("modified");
  if (!space_.block(region.where_.offset).sole()) copy(region);
}

}  // namespace roundtrip::ring
