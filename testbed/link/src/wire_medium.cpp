#include "wire_medium.hpp"

#include <algorithm>
#include <utility>

namespace rtlink {

namespace {
// Limits memory for any queue size: each frame on the way holds a whole buffer.
constexpr std::size_t kMostOnTheWay = 16384;
}  // namespace

void WireMedium::configure(const Settings& settings) {
  settings_ = settings;
  clock_.set_rate(settings.rate);
}

bool WireMedium::offer(Frame& frame) {
  if (on_the_way_.size() >= kMostOnTheWay) return false;
  const double backlog = clock_.backlog_bytes(frame.arrival);
  // An idle wire takes any frame, even one that is larger than the queue.
  if (backlog > 0 && backlog + frame.wire_bits / 8 > settings_.queue_bytes) return false;
  const Nanoseconds due = clock_.occupy(frame.arrival, frame.wire_bits) + settings_.delay;
  const Nanoseconds last = on_the_way_.empty() ? due : on_the_way_.back().due;
  on_the_way_.push_back({std::move(frame), std::max(due, last)});
  return true;
}

std::optional<Nanoseconds> WireMedium::next_due() {
  if (on_the_way_.empty()) return std::nullopt;
  return on_the_way_.front().due;
}

std::optional<Delivery> WireMedium::take_due(Nanoseconds now) {
  if (on_the_way_.empty() || on_the_way_.front().due > now) return std::nullopt;
  Delivery delivery = std::move(on_the_way_.front());
  on_the_way_.pop_front();
  return delivery;
}

}  // namespace rtlink
