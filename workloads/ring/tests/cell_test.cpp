// Tests of a cell between threads, with and without ThreadSanitizer.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "ring/tests/comm_space.hpp"

namespace roundtrip::ring {
namespace {

TEST(Cell, IsNotFullBecauseSomebodyReplacesWhatIsInIt) {
  constexpr int rounds = 20'000;
  constexpr int few = 8;
  Cell cell;
  std::atomic<int> inside{0};
  std::atomic<bool> done{false};
  const auto drop = [&](Descriptor) { --inside; };
  std::thread replacer([&] {
    while (!done) {
      if (inside >= few) continue;
      ++inside;
      cell.replace({}, patient, drop);
    }
  });
  std::thread consumer([&] {
    while (!done) {
      if (cell.dequeue(patient, no_wait)) --inside;
    }
  });
  int full = 0;
  for (int i = 0; i < rounds; ++i) {
    while (inside >= few) std::this_thread::yield();
    ++inside;
    if (cell.enqueue({}, patient, no_wait) != Put::done) {
      ++full;
      --inside;
    }
  }
  done = true;
  replacer.join();
  consumer.join();
  EXPECT_EQ(full, 0);
}

TEST(Cell, ATimeoutEndsSpinningToo) {
  constexpr WaitPolicy endless{.spins = 2'000'000'000, .yields = 0};
  Cell cell;
  EXPECT_FALSE(cell.dequeue(endless, std::chrono::milliseconds(1)));
}

TEST(Cell, CountsPastTheEndOfItsPositions) {
  Cell cell(modulus - 2);
  for (std::uint64_t i = 0; i < Cell::capacity + 6; ++i) {
    EXPECT_FALSE(cell.dequeue(patient, no_wait));
    EXPECT_EQ(cell.enqueue({.offset = i, .bytes = 0}, patient, no_wait), Put::done);
    EXPECT_EQ(cell.dequeue(patient, no_wait)->offset, i);
  }
  for (std::uint32_t i = 0; i < Cell::capacity; ++i) {
    EXPECT_EQ(cell.enqueue({}, patient, no_wait), Put::done);
  }
  EXPECT_EQ(cell.enqueue({}, patient, no_wait), Put::full);
}

}  // namespace
}  // namespace roundtrip::ring
