#include "frame.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rtlink {

namespace {
constexpr std::size_t kOverhead = 8 + 4 + 12;
constexpr std::size_t kShortest = 60;
}  // namespace

double wire_bits(std::span<const std::byte> packet) {
  VnetHeader header{};
  std::memcpy(&header, packet.data(), sizeof header);
  const std::size_t frame = packet.size() - sizeof header;
  const std::size_t headers = header.hdr_len;
  if (header.gso_type == kGsoNone || header.gso_size == 0 || frame <= headers) {
    return 8.0 * static_cast<double>(std::max(frame, kShortest) + kOverhead);
  }
  const std::size_t payload = frame - headers;
  const std::size_t segments = (payload + header.gso_size - 1) / header.gso_size;
  return 8.0 * static_cast<double>(payload + segments * (headers + kOverhead));
}

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
