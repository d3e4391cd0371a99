#include "hub_medium.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace rtlink {

void HubMedium::configure(const Settings& settings, Nanoseconds /*now*/) {
  settings_ = settings;
  clock_.set_rate(settings.rate);
}

bool HubMedium::offer(Frame& frame) {
  Port& port = ports_.at(frame.port);
  const double bytes = frame.wire_bits / 8;
  if (!port.waiting.empty() && port.bytes + bytes > settings_.queue_bytes) return false;
  port.bytes += bytes;
  port.waiting.push_back(std::move(frame));
  return true;
}

std::optional<Nanoseconds> HubMedium::next_due() {
  if (!sending_) start_next();
  if (!sending_) return std::nullopt;
  return sending_->due;
}

std::optional<Delivery> HubMedium::take_due(Nanoseconds now) {
  const auto due = next_due();
  if (!due || *due > now) return std::nullopt;
  return std::exchange(sending_, std::nullopt);
}

void HubMedium::start_next() {
  Nanoseconds first = std::numeric_limits<Nanoseconds>::max();
  for (const Port& port : ports_) {
    if (!port.waiting.empty()) first = std::min(first, port.waiting.front().arrival);
  }
  const auto chosen = winner(std::max(first, clock_.free_at()));
  if (!chosen) return;
  Port& port = ports_[*chosen];
  Frame frame = std::move(port.waiting.front());
  port.waiting.pop_front();
  port.bytes -= frame.wire_bits / 8;
  last_ = *chosen;
  const Nanoseconds end = clock_.occupy(frame.arrival, frame.wire_bits);
  sending_ = Delivery{std::move(frame), end + settings_.delay};
}

std::optional<std::size_t> HubMedium::winner(Nanoseconds start) const {
  for (std::size_t step = 1; step <= ports_.size(); ++step) {
    const std::size_t candidate = (last_ + step) % ports_.size();
    const auto& waiting = ports_[candidate].waiting;
    if (!waiting.empty() && waiting.front().arrival <= start) return candidate;
  }
  return std::nullopt;
}

}  // namespace rtlink
