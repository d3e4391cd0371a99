// The control language: one datagram, words separated by blanks.
//
//   delay_us=N rate_bps=N queue_bytes=N loss=P seed=N up down   change a setting; up also ends a
//   cut cut_us=N                                                    go down, and up again after N
//   us stats                                                       change nothing, only answer
//   reset                                                       set the counters to 0
// If one word is bad, nothing is changed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "medium.hpp"

namespace rtlink {

struct Command {
  Settings settings;  // after the command
  bool reset = false;
  bool ends_cut = false;
  std::optional<Nanoseconds> cut;

  // The end of the cut after the command, at `now`, of a link that was cut until `end`; 0: none.
  [[nodiscard]] Nanoseconds cut_until(Nanoseconds end, Nanoseconds now) const {
    if (cut) return now + *cut;
    return ends_cut || end <= now ? 0 : end;
  }

  // Whether it changes settings, cuts the link or resets counters.
  [[nodiscard]] bool changes(const Settings& present) const {
    return reset || cut || !(settings == present);
  }
};

// Returns the command, or an error message.
std::variant<Command, std::string> parse_command(std::string_view text, const Settings& present);

}  // namespace rtlink
