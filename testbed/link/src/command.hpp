// The control language: one datagram, words separated by blanks.
//
//   delay_us=N rate_bps=N queue_bytes=N loss=P seed=N up down   change a setting
//   cut_us=N                                                    go down, and up again after N us
//   stats                                                       only tell
//   reset                                                       set the counters to 0
// All or nothing: one bad word, and nothing is changed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "settings.hpp"

namespace rtlink {

struct Command {
  Settings settings;  // as they shall be
  bool reset = false;
  std::optional<Nanoseconds> cut;

  // Does it alter what happens to frames, or what was counted of them?
  [[nodiscard]] bool changes(const Settings& present) const {
    return reset || cut || !(settings == present);
  }
};

// The command, or what is wrong with it.
std::variant<Command, std::string> parse_command(std::string_view text, const Settings& present);

}  // namespace rtlink
