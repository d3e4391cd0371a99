#include "options.hpp"

#include <string_view>

#include "number.hpp"

namespace rtlink {

namespace {
bool assign(std::string_view name, std::string_view text, Options& options) {
  if (name == "--control") {
    options.control = text;
    return !text.empty();
  }
  if (name == "--fifo") {
    const auto value = parse_number(text, 0, 99);
    if (value) options.fifo = static_cast<int>(*value);
    return value.has_value();
  }
  if (name == "--spin-us") {
    const auto value = parse_number(text, 0, 10000);
    if (value) options.spin = static_cast<Nanoseconds>(*value * kMicrosecond);
    return value.has_value();
  }
  return false;
}
}  // namespace

std::variant<Options, std::string> parse_options(std::span<const char* const> arguments) {
  const std::string_view mode = arguments.empty() ? "" : arguments[0];
  if (mode != "wire" && mode != "hub") return "say wire or hub";
  Options options;
  options.hub = mode == "hub";
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (!word.starts_with("--")) {
      options.ports.emplace_back(word);
    } else if (i + 1 == arguments.size() || !assign(word, arguments[++i], options)) {
      return "bad option: " + std::string(word);
    }
  }
  if (options.ports.size() < 2 || (!options.hub && options.ports.size() != 2)) {
    return options.hub ? "a hub needs two ports or more" : "a wire needs two ports";
  }
  return options;
}

}  // namespace rtlink
