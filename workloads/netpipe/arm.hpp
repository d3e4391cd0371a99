#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/arm.hpp"
#include "core/clock.hpp"
#include "netpipe/buffers.hpp"
#include "netpipe/transports.hpp"

namespace roundtrip::netpipe {

/// One end of a pair of ranks that exchange messages.
struct End {
  Peer peer;
  Mode mode = Mode::pingpong;
  bool transmitter = false;
  Buffers& buffers;  ///< shared by all arms of this end
};

/// A variant under measurement, at one end. A virtual call executes a whole batch; the loop inside
/// is compiled for each transport. The transmitter times ping-pong and bidirectional exchanges, the
/// receiver times streams: their rate is that of arrival, not of departure.
class MessageArm : public Arm {
 public:
  MessageArm(std::string name, const End& end) : name_(std::move(name)), end_(end) {}

  [[nodiscard]] std::string name() const override { return name_; }
  void prepare(std::int64_t bytes) override;
  std::optional<std::string> verify() override;
  Timing time(const Repetitions& repetitions) override;
  [[nodiscard]] TimingFacts facts() const override {
    return {.synchronisation = "message",
            .cache = end_.buffers.layout() == Layout::no_cache ? "flushed" : "warm"};
  }

 protected:
  [[nodiscard]] const End& end() const { return end_; }

 private:
  /// One message in slot 0; not timed.
  virtual void send_one() = 0;
  virtual void receive_one() = 0;
  virtual void exchange_one() = 0;

  /// Seconds this rank needs for `exchanges` exchanges.
  virtual double batch(std::int64_t exchanges) = 0;

  std::optional<Mismatch> verified();
  void synchronise() const;
  [[nodiscard]] std::optional<std::string> fault(const std::optional<Mismatch>& mismatch) const;

  std::string name_;
  End end_;
};

template <class Transport>
class ArmOf final : public MessageArm {
 public:
  explicit ArmOf(const End& end)
      : MessageArm(std::string(Transport::name), end), transport_(end.peer) {}

 private:
  using Element = typename Transport::Element;
  static_assert(sizeof(Element) == 1);

  void send_one() override { transport_.send(elements(buffers().fixed().out()), count()); }
  void receive_one() override { transport_.receive(elements(buffers().fixed().in()), count()); }
  void exchange_one() override {
    transport_.exchange(elements(buffers().fixed().out()), elements(buffers().fixed().in()),
                        count());
  }

  double batch(std::int64_t exchanges) override {
    if (buffers().layout() == Layout::no_cache) return timed(buffers().walk(), exchanges);
    Fixed fixed = buffers().fixed();
    return timed(fixed, exchanges);
  }

  [[nodiscard]] Buffers& buffers() const { return end().buffers; }
  static Element* elements(char* data) { return reinterpret_cast<Element*>(data); }
  [[nodiscard]] int count() const { return static_cast<int>(buffers().size()); }

  template <class Steps>
  double timed(Steps& steps, std::int64_t k) const {
    const int n = count();
    const auto send = [&] { transport_.send(elements(steps.out()), n); };
    const auto receive = [&] { transport_.receive(elements(steps.in()), n); };
    const auto both = [&] { transport_.exchange(elements(steps.out()), elements(steps.in()), n); };
    const auto repeat = [&](auto&& exchange) {
      const double start = now();
      for (std::int64_t i = 0; i < k; ++i) {
        exchange();
        steps.step();
      }
      return now() - start;
    };
    if (end().mode == Mode::bidirectional) return repeat(both);
    if (end().mode == Mode::stream) return end().transmitter ? repeat(send) : repeat(receive);
    if (end().transmitter) return repeat([&] { send(), receive(); });
    return repeat([&] { receive(), send(); });
  }

  Transport transport_;
};

/// A variant's name, and the factory of its arm for one end.
struct Variant {
  std::string name;
  std::function<std::unique_ptr<Arm>(const End&)> make;
};

template <class Transport>
Variant variant() {
  return {.name = std::string(Transport::name),
          .make = [](const End& end) { return std::make_unique<ArmOf<Transport>>(end); }};
}

}  // namespace roundtrip::netpipe
