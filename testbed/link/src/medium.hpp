// A medium accepts frames as they arrive and determines when each is due at the other end.
#pragma once

#include <optional>

#include "frame.hpp"
#include "settings.hpp"

namespace rtlink {

class Medium {
 public:
  Medium() = default;
  Medium(const Medium&) = delete;
  Medium& operator=(const Medium&) = delete;
  virtual ~Medium() = default;

  // Applies to frames that come later; a new rate also to those that wait at `now`.
  virtual void configure(const Settings& settings, Nanoseconds now) = 0;

  // Moves from `frame`.  If the queue is full, returns false and leaves `frame` unchanged.
  virtual bool offer(Frame& frame) = 0;

  // Due time of the next frame; empty if there is no frame.
  virtual std::optional<Nanoseconds> next_due() = 0;

  // The next frame; empty if it is not due at `now`.
  virtual std::optional<Delivery> take_due(Nanoseconds now) = 0;
};

}  // namespace rtlink
