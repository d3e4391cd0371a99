#include "engine.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <utility>

#include "frame.hpp"
#include "media.hpp"
#include "system.hpp"

namespace rtlink {

namespace {
constexpr std::uint32_t kControlToken = 1U << 16U;
// Most frames that a lane delivers in a row before new arrivals are read.
constexpr int kDeliveries = 64;

std::span<const std::byte> packet(const Frame& frame) {
  return {frame.buffer->data(), frame.size};
}

std::span<const std::byte> ethernet(const Frame& frame) {
  return packet(frame).subspan(sizeof(VnetHeader));
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
}  // namespace

Engine::Engine(const Options& options, bool fifo)
    : hub_(options.hub), fifo_(fifo), wakeup_(options.spin) {
  for (const std::string& name : options.ports) {
    const auto index = ports_.size();
    ports_.emplace_back(name, index);
    wakeup_.watch(ports_.back().descriptor(), static_cast<std::uint32_t>(index));
  }
  if (hub_) {
    lanes_.push_back({"hub", std::make_unique<HubMedium>(ports_.size()), {}, {}});
  } else {
    lanes_.push_back({"A->B", std::make_unique<WireMedium>(), {}, {}});
    lanes_.push_back({"B->A", std::make_unique<WireMedium>(), {}, {}});
  }
  configure();
  if (!options.control.empty()) {
    control_ = std::make_unique<ControlSocket>(options.control);
    wakeup_.watch(control_->descriptor(), kControlToken);
  }
}

void Engine::run() {
  const auto ready = [this](std::uint32_t token) {
    if (token == kControlToken) {
      control_->serve([this](std::string_view text) { return obey(text); });
    } else {
      receive(token);
    }
  };
  while (wakeup_.wait(next_due(), ready)) {
    for (Lane& lane : lanes_) deliver_due(lane);
  }
}

void Engine::receive(std::size_t port) {
  ports_[port].receive(pool_, [this](Frame frame) { admit(std::move(frame)); });
}

void Engine::admit(Frame frame) {
  Lane& lane = lanes_[hub_ ? 0 : frame.port];
  ++lane.statistics.frames;
  lane.statistics.bytes += ethernet(frame).size();
  if (is_cut(frame.arrival)) {
    ++lane.statistics.cut;
    pool_.give_back(std::move(frame.buffer));
    return;
  }
  if (hub_) forwarder_.learn(ethernet(frame), frame.port);
  frame.wire_bits = wire_bits(packet(frame));
  frame.lost = lane.loss.next();
  if (!lane.medium->offer(frame)) {
    ++lane.statistics.dropped;
    pool_.give_back(std::move(frame.buffer));
  }
}

void Engine::deliver_due(Lane& lane) {
  for (int count = 0; count < kDeliveries; ++count) {
    auto delivery = lane.medium->take_due(now());
    if (!delivery) return;
    if (delivery->frame.lost) {
      ++lane.statistics.lost;
    } else {
      lane.statistics.note_sent(now() - delivery->due);
      emit(*delivery);
    }
    pool_.give_back(std::move(delivery->frame.buffer));
  }
}

void Engine::emit(const Delivery& delivery) {
  const std::size_t from = delivery.frame.port;
  const auto send = [&](std::size_t port) {
    if (port != from && !ports_[port].send(delivery.frame)) ++send_errors_;
  };
  if (!hub_) {
    send(1 - from);
  } else if (const auto port = forwarder_.destination(ethernet(delivery.frame))) {
    send(*port);
  } else {
    for (std::size_t each = 0; each < ports_.size(); ++each) send(each);
  }
}

void Engine::configure() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i].medium->configure(settings_, now());
    lanes_[i].loss.configure(settings_.loss, settings_.seed + i);
  }
}

bool Engine::is_cut(Nanoseconds at) const {
  return !settings_.up || at < cut_until_;
}

std::optional<Nanoseconds> Engine::next_due() {
  std::optional<Nanoseconds> first;
  for (Lane& lane : lanes_) {
    const auto due = lane.medium->next_due();
    if (due && (!first || *due < *first)) first = due;
  }
  return first;
}

std::string Engine::obey(std::string_view text) {
  const auto parsed = parse_command(text, settings_);
  if (const auto* wrong = std::get_if<std::string>(&parsed)) {
    // The client wrote the word: remove characters that would break the JSON.
    std::string shown = *wrong;
    std::erase_if(shown, [](char c) { return c < ' ' || c > '~' || c == '"' || c == '\\'; });
    return R"({"ok":false,"error":")" + shown + "\"}\n";
  }
  const auto& command = std::get<Command>(parsed);
  const Nanoseconds time = now();
  const Nanoseconds cut_until = command.cut_until(cut_until_, time);
  if (command.changes(settings_) || (cut_until == 0 && cut_until_ > time)) ++changes_;
  settings_ = command.settings;
  cut_until_ = cut_until;
  if (command.reset) {
    for (Lane& lane : lanes_) lane.statistics = {};
  }
  if (text != "stats" && text != "reset") configure();
  return report();
}

std::string Engine::report() const {
  std::ostringstream out;
  out.precision(9);
  out << R"({"ok":true,"mode":")" << (hub_ ? "hub" : "wire") << R"(","delay_us":)"
      << static_cast<double>(settings_.delay) / kMicrosecond << R"(,"rate_bps":)" << settings_.rate
      << R"(,"queue_bytes":)" << settings_.queue_bytes << R"(,"loss":)" << settings_.loss
      << R"(,"seed":)" << settings_.seed << R"(,"up":)" << (is_cut(now()) ? "false" : "true")
      << R"(,"scheduler":")" << (fifo_ ? "fifo" : "other") << R"(","cpu_s":)" << cpu_seconds()
      << R"(,"send_errors":)" << send_errors_ << R"(,"started_ns":)" << started_ << R"(,"changes":)"
      << changes_ << R"(,"media":[)";
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    out << (i == 0 ? "" : ",") << lanes_[i].statistics.json(lanes_[i].name);
  }
  out << "]}\n";
  return out.str();
}

}  // namespace rtlink
