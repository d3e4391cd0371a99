// One direction of a full-duplex link: queue, serialisation, then a constant delay; no reordering.
#pragma once

#include <deque>

#include "medium.hpp"
#include "serial_clock.hpp"

namespace rtlink {

class WireMedium final : public Medium {
 public:
  void configure(const Settings& settings) override;
  bool offer(Frame& frame) override;
  std::optional<Nanoseconds> next_due() override;
  std::optional<Delivery> take_due(Nanoseconds now) override;

 private:
  Settings settings_;
  SerialClock clock_;
  std::deque<Delivery> on_the_way_;
};

}  // namespace rtlink
