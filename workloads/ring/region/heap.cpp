#include "ring/region/heap.hpp"

#include <algorithm>
#include <new>

namespace roundtrip::ring {
namespace {

constexpr std::uint64_t round_up(std::uint64_t bytes) {
  return (bytes + Heap::alignment - 1) / Heap::alignment * Heap::alignment;
}

/// Scoped lock of a heap.
class Held {
 public:
  Held(Cursor& lock, const WaitPolicy& policy) : lock_(lock), position_(lock.lock(policy)) {}
  ~Held() { lock_.unlock_at(position_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  Cursor& lock_;
  std::uint32_t position_;
};

}  // namespace

std::size_t Heap::bytes_for(std::size_t region_bytes, std::size_t regions) {
  return round_up(sizeof(Heap)) + round_up(region_bytes) + regions * 2 * alignment;
}

void Heap::initialise(std::size_t total, int owner) {
  new (this) Heap;
  total_ = total / alignment * alignment;
  owner_ = owner;
  insert(round_up(sizeof(Heap)), total_ - round_up(sizeof(Heap)));
}

std::uint64_t Heap::allocate(std::size_t bytes, const WaitPolicy& policy) {
  const std::uint64_t wanted = round_up(head_bytes + bytes);
  const Held held(lock_, policy);
  std::uint64_t largest = 0;
  for (std::uint64_t* link = &first_free_; *link != none; link = &at<Block>(*link).next) {
    const std::uint64_t position = *link;
    auto& block = at<Block>(position);
    largest = std::max(largest, block.bytes);
    if (block.bytes < wanted) continue;
    const std::uint64_t rest = block.bytes - wanted;
    *link = block.next;
    if (rest > 0) {
      auto& remainder = *new (&at<Block>(position + wanted)) Block;
      remainder.state.store(Block::State::free, std::memory_order_relaxed);
      remainder.bytes = rest;
      remainder.next = *link;
      *link = position + wanted;
    }
    block.bytes = bytes;
    block.state.store(Block::State::live, std::memory_order_relaxed);
    block.references.store(1, std::memory_order_relaxed);
    return position + head_bytes;
  }
  throw RegionError(RegionError::Kind::heap_exhausted,
                    "comm heap of rank " + std::to_string(owner_) + " exhausted: a region of " +
                        std::to_string(bytes) + " bytes does not fit, the largest free piece of " +
                        std::to_string(total_) + " bytes has " +
                        std::to_string(largest > head_bytes ? largest - head_bytes : 0));
}

void Heap::release(std::uint64_t region, const WaitPolicy& policy) {
  Block& block = block_of(region);
  if (block.state.load(std::memory_order_relaxed) != Block::State::live) {
    throw RegionError(RegionError::Kind::freed_twice, "region at " + std::to_string(region) +
                                                          " of rank " + std::to_string(owner_) +
                                                          "'s comm heap freed twice");
  }
  if (block.references.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  const Held held(lock_, policy);
  insert(region - head_bytes, round_up(head_bytes + block.bytes));
}

std::size_t Heap::free_bytes(const WaitPolicy& policy) {
  const Held held(lock_, policy);
  std::size_t sum = 0;
  for (auto position = first_free_; position != none; position = at<Block>(position).next) {
    sum += at<Block>(position).bytes;
  }
  return sum;
}

/// Inserts a block into the free list, sorted by address, and joins it with free neighbours.
void Heap::insert(std::uint64_t position, std::uint64_t size) {
  std::uint64_t* link = &first_free_;
  std::uint64_t before = none;
  while (*link != none && *link < position) {
    before = *link;
    link = &at<Block>(*link).next;
  }
  auto& block = at<Block>(position);
  block.state.store(Block::State::free, std::memory_order_relaxed);
  block.bytes = size;
  block.next = *link;
  *link = position;
  const auto join = [this](std::uint64_t left) {
    auto& block_left = at<Block>(left);
    const std::uint64_t right = block_left.next;
    if (right == none || left + block_left.bytes != right) return;
    block_left.bytes += at<Block>(right).bytes;
    block_left.next = at<Block>(right).next;
  };
  join(position);
  if (before != none) join(before);
}

}  // namespace roundtrip::ring
