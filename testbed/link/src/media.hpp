// The two media: a wire, of which a link has one for each direction, and a hub.
#pragma once

#include <deque>
#include <vector>

#include "medium.hpp"

namespace rtlink {

// One direction of a full-duplex link: queue, serialisation, then a constant delay; no reordering.
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

// A repeater hub: one frame at a time on a medium that all ports share.
//
// When the medium becomes free, ports with a waiting frame take turns (round robin).  That is the
// fair outcome of CSMA/CD without its collisions and back-off times.  A frame that arrives
// while the medium is idle starts at once.
class HubMedium final : public Medium {
 public:
  explicit HubMedium(std::size_t ports) : ports_(ports) {}

  void configure(const Settings& settings, Nanoseconds now) override;
  bool offer(Frame& frame) override;
  std::optional<Nanoseconds> next_due() override;
  std::optional<Delivery> take_due(Nanoseconds now) override;

 private:
  struct Port {
    std::deque<Frame> waiting;
    double bytes = 0;
  };

  void start_next();
  [[nodiscard]] std::optional<std::size_t> winner(Nanoseconds start) const;

  Settings settings_;
  SerialClock clock_;
  std::vector<Port> ports_;
  std::size_t last_ = 0;  // the port that sent last
  std::optional<Delivery> sending_;
};

}  // namespace rtlink
