#include "media.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace rtlink {

namespace {
// Limits memory for any queue size: each frame on the way holds a whole buffer.
constexpr std::size_t kMostOnTheWay = 16384;
}  // namespace

void WireMedium::configure(const Settings& settings, Nanoseconds now) {
  const double old_rate = std::exchange(settings_, settings).rate;
  if (settings.rate != old_rate) serialise_again(old_rate, now);
}

bool WireMedium::offer(Frame& frame) {
  if (on_the_way_.size() >= kMostOnTheWay) return false;
  const double backlog = clock_.backlog_bytes(frame.arrival);
  // An idle wire takes any frame, even one that is larger than the queue.
  if (backlog > 0 && backlog + frame.wire_bits / 8 > settings_.queue_bytes) return false;
  const Nanoseconds left = clock_.occupy(frame.arrival, frame.wire_bits);
  const Nanoseconds due = left + settings_.delay;
  const Nanoseconds last = on_the_way_.empty() ? due : on_the_way_.back().delivery.due;
  on_the_way_.push_back({{std::move(frame), std::max(due, last)}, left});
  return true;
}

std::optional<Nanoseconds> WireMedium::next_due() {
  if (on_the_way_.empty()) return std::nullopt;
  return on_the_way_.front().delivery.due;
}

std::optional<Delivery> WireMedium::take_due(Nanoseconds now) {
  if (on_the_way_.empty() || on_the_way_.front().delivery.due > now) return std::nullopt;
  Delivery delivery = std::move(on_the_way_.front().delivery);
  on_the_way_.pop_front();
  return delivery;
}

void WireMedium::serialise_again(double old_rate, Nanoseconds now) {
  clock_.set_rate(settings_.rate);
  const auto first = std::ranges::find_if(
      on_the_way_, [now](const Travelling& travelling) { return travelling.left > now; });
  if (first == on_the_way_.end()) return;
  clock_.clear(now);
  const double rest =
      static_cast<double>(first->left - now) / static_cast<double>(kSecond) * old_rate;
  Nanoseconds last = first == on_the_way_.begin() ? 0 : std::prev(first)->delivery.due;
  for (auto it = first; it != on_the_way_.end(); ++it) {
    const Frame& frame = it->delivery.frame;
    const double bits = it == first ? std::min(rest, frame.wire_bits) : frame.wire_bits;
    it->left = clock_.occupy(frame.arrival, bits);
    last = it->delivery.due = std::max(last, it->left + settings_.delay);
  }
}

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
