// Numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace rtlink {

// The number in `text`; empty unless all of `text` is a finite number in [low, high].
inline std::optional<double> parse_number(std::string_view text, double low, double high) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc{} || end != text.end()) return std::nullopt;
  if (!(value >= low && value <= high)) return std::nullopt;
  return value;
}

}  // namespace rtlink
