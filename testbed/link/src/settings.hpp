// The settings of a link.
#pragma once

#include <cstdint>

#include "time.hpp"

namespace rtlink {

struct Settings {
  Nanoseconds delay = 0;                    // one way
  double rate = 0;                          // bit/s; 0: unlimited
  double queue_bytes = 64.0 * 1024 * 1024;  // before the wire, per direction or port
  double loss = 0;                          // probability, per frame
  std::uint64_t seed = 1;                   // of the losses
  bool up = true;

  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace rtlink
