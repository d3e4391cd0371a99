#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "netpipe/buffers.hpp"
#include "netpipe/transports.hpp"

namespace roundtrip::netpipe {

/// A variant under measurement. Virtual calls go a whole batch at a time; the loop inside is
/// compiled for each transport.
class Arm {
 public:
  Arm() = default;
  virtual ~Arm() = default;
  Arm(const Arm&) = delete;
  Arm& operator=(const Arm&) = delete;

  /// One message in slot 0; not timed.
  virtual void send_one(Buffers& buffers) const = 0;
  virtual void receive_one(Buffers& buffers) const = 0;
  virtual void exchange_one(Buffers& buffers) const = 0;

  /// Seconds this rank needs for `exchanges` exchanges.
  virtual double batch(Mode mode, bool transmitter, Buffers& buffers,
                       std::int64_t exchanges) const = 0;
};

template <class Transport>
class ArmOf final : public Arm {
 public:
  explicit ArmOf(Peer peer) : transport_(peer) {}

  void send_one(Buffers& buffers) const override {
    transport_.send(elements(buffers.fixed().out()), count(buffers));
  }
  void receive_one(Buffers& buffers) const override {
    transport_.receive(elements(buffers.fixed().in()), count(buffers));
  }
  void exchange_one(Buffers& buffers) const override {
    transport_.exchange(elements(buffers.fixed().out()), elements(buffers.fixed().in()),
                        count(buffers));
  }

  double batch(Mode mode, bool transmitter, Buffers& buffers,
               std::int64_t exchanges) const override {
    if (buffers.layout() == Layout::no_cache) {
      return timed(mode, transmitter, buffers.walk(), count(buffers), exchanges);
    }
    Fixed fixed = buffers.fixed();
    return timed(mode, transmitter, fixed, count(buffers), exchanges);
  }

 private:
  using Element = typename Transport::Element;
  static_assert(sizeof(Element) == 1);

  static Element* elements(char* data) { return reinterpret_cast<Element*>(data); }
  static int count(const Buffers& buffers) { return static_cast<int>(buffers.size()); }

  template <class Steps>
  double timed(Mode mode, bool transmitter, Steps& steps, int n, std::int64_t k) const {
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
    if (mode == Mode::bidirectional) return repeat(both);
    if (mode == Mode::stream) return transmitter ? repeat(send) : repeat(receive);
    if (transmitter) return repeat([&] { send(), receive(); });
    return repeat([&] { receive(), send(); });
  }

  Transport transport_;
};

/// A variant's name and how to make it for a pair of ranks.
struct Variant {
  std::string name;
  std::function<std::unique_ptr<Arm>(Peer)> make;
};

template <class Transport>
Variant variant() {
  return {.name = std::string(Transport::name),
          .make = [](Peer peer) { return std::make_unique<ArmOf<Transport>>(peer); }};
}

}  // namespace roundtrip::netpipe
