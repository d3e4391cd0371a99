// One direction of a full-duplex link: queue, serialisation, then a constant delay; no reordering.
#pragma once

#include <deque>

#include "medium.hpp"
#include "serial_clock.hpp"

namespace rtlink {

class WireMedium final : public Medium {
 public:
  void configure(const Settings& settings, Nanoseconds now) override;
  bool offer(Frame& frame) override;
  std::optional<Nanoseconds> next_due() override;
  std::optional<Delivery> take_due(Nanoseconds now) override;

 private:
  struct Travelling {
    Delivery delivery;
    Nanoseconds left = 0;  // when its last bit leaves the wire
  };

  // Puts what has not left at `now` on the wire again: the rest of a frame, and those behind it.
  void serialise_again(double old_rate, Nanoseconds now);

  Settings settings_;
  SerialClock clock_;
  std::deque<Travelling> on_the_way_;
};

}  // namespace rtlink
