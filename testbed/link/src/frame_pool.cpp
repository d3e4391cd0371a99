#include "frame_pool.hpp"

#include <utility>

namespace rtlink {

namespace {
constexpr std::size_t kMostFree = 1024;
}  // namespace

std::unique_ptr<Buffer> FramePool::take() {
  if (free_.empty()) return std::make_unique_for_overwrite<Buffer>();
  auto buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

void FramePool::give_back(std::unique_ptr<Buffer> buffer) {
  if (buffer && free_.size() < kMostFree) free_.push_back(std::move(buffer));
}

}  // namespace rtlink
