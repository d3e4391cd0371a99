// Tests of comm heaps, with and without ThreadSanitizer.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ring/tests/comm_space.hpp"

namespace roundtrip::ring {
namespace {

TEST(Heap, FindsADoubleFreeByItself) {
  CommSpace space({.members = 1, .heap_bytes = Heap::bytes_for(4096, 4)});
  Member self = space.member(0);
  Heap& heap = self.space().heap(0);
  const auto first = heap.allocate(10, patient);
  const auto second = heap.allocate(10, patient);
  heap.release(first, patient);
  EXPECT_EQ(kind_of([&] { heap.release(first, patient); }), Kind::freed_twice);
  heap.release(second, patient);
  EXPECT_EQ(kind_of([&] { heap.release(second, patient); }), Kind::freed_twice);
}

TEST(Heap, IsWholeAgainWhateverTheOrderOfFreeing) {
  CommSpace space({.members = 1, .heap_bytes = kib64});
  Heap& heap = space.member(0).space().heap(0);
  const std::size_t before = heap.free_bytes(patient);
  for (const auto& order : {std::vector{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}}) {
    std::vector<std::uint64_t> regions;
    regions.reserve(4);
    for (int i = 0; i < 4; ++i) regions.push_back(heap.allocate(1000, patient));
    for (const int i : order) heap.release(regions[static_cast<std::size_t>(i)], patient);
    EXPECT_EQ(heap.free_bytes(patient), before);
    heap.release(heap.allocate(before - 2 * Heap::alignment, patient), patient);
  }
}

}  // namespace
}  // namespace roundtrip::ring
