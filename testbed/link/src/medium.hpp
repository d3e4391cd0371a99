// A medium takes frames as they arrive and decides when each comes out at the other end.
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

  // Applies to frames offered from now on.
  virtual void configure(const Settings& settings) = 0;

  // Moves from `frame`.  If the queue is full, returns false and leaves `frame` unchanged.
  virtual bool offer(Frame& frame) = 0;

  // When the next frame comes out, if there is any.
  virtual std::optional<Nanoseconds> next_due() = 0;

  // The next frame, if it is due at `now`.
  virtual std::optional<Delivery> take_due(Nanoseconds now) = 0;
};

}  // namespace rtlink
