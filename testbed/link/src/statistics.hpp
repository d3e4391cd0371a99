// Counters of one direction or medium, and their JSON.
#pragma once

#include <cstdint>
#include <string>

#include "system.hpp"

namespace rtlink {

struct Statistics {
  std::uint64_t frames = 0;   // received
  std::uint64_t bytes = 0;    // received, without preamble, FCS and gap
  std::uint64_t sent = 0;     // left the medium, not lost
  std::uint64_t lost = 0;     // by the configured loss
  std::uint64_t dropped = 0;  // the queue was full
  std::uint64_t cut = 0;      // the link was down
  std::uint64_t late = 0;     // sent more than 100 us after their due time
  double late_sum = 0;        // ns
  Nanoseconds late_max = 0;

  // Counts a frame sent `lateness` after its due time.
  void note_sent(Nanoseconds lateness);

  // `{"name":...,"frames":...,...,"late_us_mean":...,"late_us_max":...}`; mean 0 without frames.
  [[nodiscard]] std::string json(const std::string& name) const;
};

}  // namespace rtlink
