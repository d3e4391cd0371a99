#include "ring/region/space.hpp"

#include <algorithm>
#include <exception>
#include <new>

namespace roundtrip::ring {
namespace {

constexpr std::size_t whole_line_pairs(std::size_t bytes) {
  return (bytes + line_pair - 1) / line_pair * line_pair;
}

std::size_t cells_bytes(const Layout& layout) {
  return static_cast<std::size_t>(layout.members) * static_cast<std::size_t>(layout.cells) *
         sizeof(Cell);
}

[[noreturn]] void fail(RegionError::Kind kind, const std::string& what) {
  throw RegionError(kind, what);
}

}  // namespace

std::size_t Space::bytes(const Layout& layout) {
  return cells_bytes(layout) +
         static_cast<std::size_t>(layout.members) * whole_line_pairs(layout.heap_bytes);
}

void Space::initialise() const {
  for (int member = 0; member < layout_.members; ++member) {
    for (int number = 0; number < layout_.cells; ++number) new (&cell({member, number})) Cell;
    heap(member).initialise(whole_line_pairs(layout_.heap_bytes), member);
  }
}

Heap& Space::heap(int member) const {
  const std::size_t start = cells_bytes(layout_) +
                            static_cast<std::size_t>(member) * whole_line_pairs(layout_.heap_bytes);
  return *reinterpret_cast<Heap*>(base_ + start);
}

void Space::release(std::uint64_t offset, const WaitPolicy& policy) const {
  const std::uint64_t in_heaps = offset - cells_bytes(layout_);
  const auto member = static_cast<int>(in_heaps / whole_line_pairs(layout_.heap_bytes));
  Heap& owner = heap(member);
  owner.release(offset - offset_of(&owner), policy);
}

void Region::complain(const char* use) const {
  const std::string name = "region at " + std::to_string(where_.offset) + " " + use;
  switch (state_) {
    case State::given_away:
      fail(RegionError::Kind::given_away, name + " after being given away to cell " +
                                              std::to_string(given_to_.number) + " of process " +
                                              std::to_string(given_to_.member));
    case State::freed:
      fail(RegionError::Kind::freed_twice, name + " after being freed");
    default:
      fail(RegionError::Kind::not_a_region, std::string("a handle without a region ") + use);
  }
}

void Region::give_back() {
  state_ = State::freed;
  space_->release(where_.offset, *policy_);
}

void Region::drop() noexcept {
  try {
    give_back();
  } catch (const std::exception&) {
    // Not fatal: the next call on the heap reports the error, and the heap ends with the launch.
  }
}

Region Member::allocate(std::size_t bytes) {
  Heap& heap = space_.heap(member_);
  const std::uint64_t offset = space_.offset_of(&heap) + heap.allocate(bytes, policy_);
  return {&space_, {.offset = offset, .bytes = bytes}, &policy_};
}

void Member::free(Region& region) {
  region.require_held("freed");
  region.give_back();
}

void Member::replace(CellAddress cell, Region& region) {
  region.require_held("passed");
  space_.cell(cell).replace(region.where_, policy_,
                            [this](const Descriptor& old) { space_.release(old.offset, policy_); });
  region.state_ = Region::State::given_away;
  region.given_to_ = cell;
}

std::optional<Region> Member::read(CellAddress cell, Timeout timeout) {
  const auto where = space_.cell(cell).read(
      policy_, timeout, [this](const Descriptor& region) { space_.block(region.offset).share(); });
  if (!where) return std::nullopt;
  return Region(&space_, *where, &policy_);
}

Region Member::share(const Region& region) {
  region.require_held("shared");
  space_.block(region.where_.offset).share();
  return {&space_, region.where_, &policy_};
}

void Member::copy(Region& region) {
  Region own = allocate(region.where_.bytes);
  std::ranges::copy(region.bytes(), own.bytes().begin());
  region = std::move(own);
  ++copies_;
}

}  // namespace roundtrip::ring
