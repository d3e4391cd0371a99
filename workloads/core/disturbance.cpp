#include "core/disturbance.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <sstream>

namespace roundtrip {
namespace {

using nlohmann::ordered_json;

std::string text_of(const char* path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The number after `name`, blanks and a colon at the beginning of a line.
std::optional<std::int64_t> field(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const auto value = line.find_first_not_of(" \t:", name.size());
    std::int64_t number = 0;
    if (value != std::string::npos && (std::istringstream(line.substr(value)) >> number)) {
      return number;
    }
  }
  return std::nullopt;
}

std::optional<double> steal_ticks(const std::string& stat) {
  // cpu user nice system idle iowait irq softirq steal ...
  constexpr int steal_field = 8;
  std::istringstream line(stat);
  std::string label;
  double ticks = 0;
  line >> label;
  for (int i = 0; i < steal_field; ++i) line >> ticks;
  if (line && label == "cpu") return ticks;
  return std::nullopt;
}

template <class Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

template <class Value>
ordered_json difference(const std::optional<Value>& start, const std::optional<Value>& end) {
  return start && end ? ordered_json(*end - *start) : ordered_json(nullptr);
}

}  // namespace

Counters parse_counters(const ProcTexts& texts, double ticks_per_second) {
  Counters counters;
  counters.involuntary_context_switches = field(texts.status, "nonvoluntary_ctxt_switches");
  counters.core_migrations = field(texts.sched, "se.nr_migrations");
  if (const auto ticks = steal_ticks(texts.stat)) counters.steal_s = *ticks / ticks_per_second;
  std::array<double, 3> load{};
  if (std::istringstream(texts.loadavg) >> load[0] >> load[1] >> load[2]) {
    counters.load_average = load;
  }
  return counters;
}

Counters read_counters() {
  return parse_counters({.status = text_of("/proc/self/status"),
                         .sched = text_of("/proc/self/sched"),
                         .stat = text_of("/proc/stat"),
                         .loadavg = text_of("/proc/loadavg")},
                        static_cast<double>(sysconf(_SC_CLK_TCK)));
}

ordered_json disturbance_between(const Session& session, const Counters& start,
                                 const Counters& end) {
  const ordered_json mine = {
      {"switches",
       difference(start.involuntary_context_switches, end.involuntary_context_switches)},
      {"migrations", difference(start.core_migrations, end.core_migrations)},
      {"steal_s", difference(start.steal_s, end.steal_s)},
  };
  const auto texts = session.gather(mine.dump());
  ordered_json switches = ordered_json::array();
  ordered_json migrations = ordered_json::array();
  std::optional<double> steal_s;
  std::set<std::string> seen;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const auto one = ordered_json::parse(texts[rank]);
    switches.push_back(one["switches"]);
    migrations.push_back(one["migrations"]);
    if (seen.insert(session.placement()[rank].host).second && one["steal_s"].is_number()) {
      steal_s = steal_s.value_or(0.0) + one["steal_s"].get<double>();
    }
  }
  return {{"load_average_start", or_null(start.load_average)},
          {"load_average_end", or_null(end.load_average)},
          {"involuntary_context_switches", switches},
          {"core_migrations", migrations},
          {"steal_s", or_null(steal_s)}};
}

}  // namespace roundtrip
