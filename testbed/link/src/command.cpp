#include "command.hpp"

#include <cmath>
#include <sstream>

#include "number.hpp"

namespace rtlink {

namespace {
constexpr double kLongestDelay = 1e6;      // us
constexpr double kLongestCut = 3600e6;     // us
constexpr double kHighestRate = 1e12;      // bit/s
constexpr double kLargestQueue = 1e12;     // bytes
constexpr double kHighestSeed = 0x1.0p53;  // exact in a double

Nanoseconds from_microseconds(double value) {
  return std::llround(value * kMicrosecond);
}

bool assign(std::string_view name, std::string_view text, Command& command) {
  const auto within = [text](double low, double high) { return parse_number(text, low, high); };
  Settings& settings = command.settings;
  if (name == "delay_us") {
    const auto value = within(0, kLongestDelay);
    if (value) settings.delay = from_microseconds(*value);
    return value.has_value();
  }
  if (name == "cut_us") {
    const auto value = within(1, kLongestCut);
    if (value) command.cut = from_microseconds(*value);
    return value.has_value();
  }
  if (name == "seed") {
    const auto value = within(0, kHighestSeed);
    if (value) settings.seed = static_cast<std::uint64_t>(*value);
    return value.has_value();
  }
  const auto set = [](std::optional<double> value, double& target) {
    if (value) target = *value;
    return value.has_value();
  };
  if (name == "rate_bps") return set(within(0, kHighestRate), settings.rate);
  if (name == "queue_bytes") return set(within(1, kLargestQueue), settings.queue_bytes);
  if (name == "loss") return set(within(0, 1), settings.loss);
  return false;
}

bool set_by(std::string_view word, Command& command) {
  if (const auto equals = word.find('='); equals != std::string_view::npos) {
    return assign(word.substr(0, equals), word.substr(equals + 1), command);
  }
  if (word == "up" || word == "down") {
    command.settings.up = word == "up";
    command.ends_cut = command.settings.up;
  } else if (word == "reset") {
    command.reset = true;
  } else {
    return word == "stats";
  }
  return true;
}
}  // namespace

std::variant<Command, std::string> parse_command(std::string_view text, const Settings& present) {
  Command command{.settings = present, .reset = false, .ends_cut = false, .cut = std::nullopt};
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (!set_by(word, command)) return "bad word: " + word;
  }
  return command;
}

}  // namespace rtlink
