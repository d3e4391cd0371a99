// Tests of a comm space between threads, with and without ThreadSanitizer.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/pattern.hpp"
#include "ring/tests/comm_space.hpp"

namespace roundtrip::ring {
namespace {

using std::chrono::milliseconds;

std::uint64_t counter(const Region& region) {
  std::uint64_t value = 0;
  std::memcpy(&value, region.bytes().data(), sizeof value);
  return value;
}

void set_counter(const Region& region, std::uint64_t value) {
  std::memcpy(region.bytes().data(), &value, sizeof value);
}

TEST(Region, IsHandedOverInPlaceRoundARingOfThreads) {
  constexpr int members = 3;
  constexpr std::uint64_t laps = 300;
  constexpr std::size_t size = 1000;
  CommSpace space({.members = members, .heap_bytes = Heap::bytes_for(size, 1)});
  std::vector<std::thread> threads;
  for (int i = 1; i < members; ++i) {
    threads.emplace_back([&, i] {
      Member self = space.member(i);
      for (std::uint64_t lap = 0; lap < laps; ++lap) {
        Region region = *self.get({i, 0});
        self.modify(region);
        EXPECT_EQ(counter(region), lap * members + static_cast<std::uint64_t>(i));
        set_counter(region, counter(region) + 1);
        self.put({(i + 1) % members, 0}, region);
      }
      EXPECT_EQ(self.copies(), 0);
    });
  }
  Member self = space.member(0);
  Region region = self.allocate(size);
  fill_pattern(region.bytes().subspan(sizeof(std::uint64_t)), 7);
  set_counter(region, 0);
  const std::uint64_t offset = region.offset();
  const char* const address = region.bytes().data();
  for (std::uint64_t lap = 0; lap < laps; ++lap) {
    set_counter(region, counter(region) + 1);
    ASSERT_EQ(self.put({1, 0}, region), Put::done);
    region = *self.get({0, 0});
    self.modify(region);
    ASSERT_EQ(region.offset(), offset);
    ASSERT_EQ(region.bytes().data(), address);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter(region), laps * members);
  EXPECT_FALSE(first_mismatch(region.bytes().subspan(sizeof(std::uint64_t)), 7));
}

TEST(Region, EachIsTakenOnceByOneOfManyFromOneOfMany) {
  constexpr int producers = 3;
  constexpr int consumers = 2;
  constexpr int each = 400;
  constexpr std::size_t all = std::size_t{producers} * each;
  CommSpace space({.members = producers + consumers, .heap_bytes = Heap::bytes_for(0, 256)});
  const std::size_t free_before = space.free_bytes(0);
  std::vector<std::vector<int>> taken(consumers, std::vector<int>(all));
  std::vector<std::thread> threads;
  threads.reserve(producers + consumers);
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&, p] {
      Member self = space.member(p);
      for (int i = 0; i < each; ++i) {
        Region region = self.allocate(24);
        set_counter(region, static_cast<std::uint64_t>(p * each + i));
        EXPECT_EQ(self.put({0, 0}, region), Put::done);
      }
    });
  }
  for (int c = 0; c < consumers; ++c) {
    threads.emplace_back([&, c] {
      Member self = space.member(producers + c);
      while (auto region = self.get({0, 0}, milliseconds(300))) {
        ++taken[static_cast<std::size_t>(c)][counter(*region)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < taken[0].size(); ++i) ASSERT_EQ(taken[0][i] + taken[1][i], 1) << i;
  EXPECT_EQ(space.free_bytes(0), free_before);
}

TEST(Region, ReadersShareItWhileTheWriterReplacesIt) {
  constexpr int readers = 2;
  constexpr std::uint64_t versions = 300;
  CommSpace space({.members = 1 + readers, .heap_bytes = Heap::bytes_for(kib64, 64)});
  std::vector<std::thread> threads;
  threads.reserve(readers);
  for (int r = 0; r < readers; ++r) {
    threads.emplace_back([&, r] {
      Member self = space.member(1 + r);
      std::uint64_t seen = 0;
      while (seen < versions) {
        const auto region = self.read({0, 0}, milliseconds(2000));
        ASSERT_TRUE(region);
        ASSERT_GE(counter(*region), seen);
        seen = counter(*region);
        ASSERT_FALSE(first_mismatch(region->bytes().subspan(8), static_cast<unsigned>(seen)));
      }
    });
  }
  Member writer = space.member(0);
  for (std::uint64_t version = 1; version <= versions; ++version) {
    Region region = writer.allocate(500);
    set_counter(region, version);
    fill_pattern(region.bytes().subspan(8), static_cast<unsigned>(version));
    writer.replace({0, 0}, region);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Region, ModifyCopiesOnlyWhatIsShared) {
  CommSpace space({.members = 1, .heap_bytes = Heap::bytes_for(4096, 4)});
  Member self = space.member(0);
  Region region = self.allocate(100);
  set_counter(region, 1);
  const std::uint64_t offset = region.offset();
  self.modify(region);
  EXPECT_EQ(region.offset(), offset);
  {
    const Region reader = self.share(region);
    self.modify(region);
    EXPECT_NE(region.offset(), offset);
    EXPECT_EQ(self.copies(), 1);
    set_counter(region, 2);
    EXPECT_EQ(counter(reader), 1U);
  }
  const std::uint64_t copy = region.offset();
  self.modify(region);
  EXPECT_EQ(region.offset(), copy);
  EXPECT_EQ(self.copies(), 1);
}

TEST(Region, TheLastHolderWritesInPlaceWhatAnotherHasRead) {
  constexpr std::uint64_t versions = 200;
  CommSpace space({.members = 2, .heap_bytes = Heap::bytes_for(4096, 4)});
  std::thread reader([&] {
    Member self = space.member(1);
    for (std::uint64_t version = 0; version < versions; ++version) {
      EXPECT_EQ(counter(*self.get({1, 0})), version);
    }
  });
  Member self = space.member(0);
  Region region = self.allocate(100);
  for (std::uint64_t version = 0; version < versions; ++version) {
    set_counter(region, version);
    Region other = self.share(region);
    self.put({1, 0}, other);
    while (!self.space().block(region.offset()).sole()) std::this_thread::yield();
    self.modify(region);
  }
  reader.join();
  EXPECT_EQ(self.copies(), 0);
}

TEST(Region, ReadLeavesItInTheCell) {
  CommSpace space({.members = 1, .heap_bytes = Heap::bytes_for(4096, 4)});
  Member self = space.member(0);
  Region region = self.allocate(100);
  set_counter(region, 5);
  self.put({0, 0}, region);
  const auto first = self.read({0, 0});
  const auto second = self.read({0, 0});
  auto taken = self.get({0, 0});
  EXPECT_EQ(first->offset(), taken->offset());
  EXPECT_EQ(second->offset(), taken->offset());
  EXPECT_FALSE(self.get({0, 0}, no_wait));
  self.modify(*taken);
  EXPECT_NE(first->offset(), taken->offset());
}

TEST(Region, AFullQueueSaysSoAndKeepsTheRegionWithItsHolder) {
  CommSpace space({.members = 1, .heap_bytes = Heap::bytes_for(0, Cell::capacity + 1)});
  Member self = space.member(0);
  for (std::uint32_t i = 0; i < Cell::capacity; ++i) {
    Region region = self.allocate(8);
    EXPECT_EQ(self.put({0, 0}, region, no_wait), Put::done);
  }
  Region late = self.allocate(8);
  EXPECT_EQ(self.put({0, 0}, late, no_wait), Put::full);
  EXPECT_TRUE(late.held());
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(self.put({0, 0}, late, milliseconds(30)), Put::timeout);
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(30));
  EXPECT_TRUE(late.held());
  std::thread reader([&] {
    std::this_thread::sleep_for(milliseconds(20));
    space.member(0).get({0, 0});
  });
  EXPECT_EQ(self.put({0, 0}, late, milliseconds(5000)), Put::done);
  reader.join();
}

TEST(Region, GetGivesUpAfterItsTimeout) {
  CommSpace space({.members = 1, .heap_bytes = Heap::bytes_for(4096, 1)});
  Member self = space.member(0);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(self.get({0, 0}, milliseconds(30)));
  EXPECT_FALSE(self.read({0, 0}, milliseconds(30)));
  const auto passed = std::chrono::steady_clock::now() - start;
  EXPECT_GE(passed, milliseconds(60));
  EXPECT_LT(passed, milliseconds(2000));
}

TEST(Region, MisuseIsCaughtAndNamed) {
  CommSpace space({.members = 2, .cells = 3, .heap_bytes = Heap::bytes_for(1024, 1)});
  Member self = space.member(0);
  Region region = self.allocate(100);
  self.put({1, 2}, region);
  EXPECT_EQ(kind_of([&] { self.put({1, 2}, region); }), Kind::given_away);
  EXPECT_EQ(kind_of([&] { self.modify(region); }), Kind::given_away);
  EXPECT_EQ(kind_of([&] { Member::free(region); }), Kind::given_away);
  try {
    static_cast<void>(region.bytes());
    FAIL();
  } catch (const RegionError& error) {
    EXPECT_EQ(std::string(error.what()), "region at " + std::to_string(region.offset()) +
                                             " used after being given away to cell 2 of process 1");
  }
  Region other = self.allocate(10);
  Member::free(other);
  EXPECT_EQ(kind_of([&] { Member::free(other); }), Kind::freed_twice);
  EXPECT_EQ(kind_of([] { static_cast<void>(Region().bytes()); }), Kind::not_a_region);
  EXPECT_EQ(kind_of([&] { self.allocate(5000); }), Kind::heap_exhausted);
}

}  // namespace
}  // namespace roundtrip::ring
