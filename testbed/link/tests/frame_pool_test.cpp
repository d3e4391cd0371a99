#include "frame_pool.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rtlink {
namespace {

TEST(FramePool, GivesABufferOutOnceUntilItComesBack) {
  FramePool pool;
  auto one = pool.take();
  auto other = pool.take();
  const std::set<Buffer*> known = {one.get(), other.get()};
  pool.give_back(std::move(one));
  pool.give_back(std::move(other));
  one = pool.take();
  other = pool.take();
  EXPECT_EQ((std::set<Buffer*>{one.get(), other.get()}), known);
  EXPECT_FALSE(known.contains(pool.take().get()));
}

TEST(FramePool, TakesNothingBackFromAFrameWithoutABuffer) {
  FramePool pool;
  pool.give_back(nullptr);
  EXPECT_NE(pool.take(), nullptr);
}

}  // namespace
}  // namespace rtlink
