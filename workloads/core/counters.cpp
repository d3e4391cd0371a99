#include "core/counters.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/cgroup.hpp"

namespace roundtrip {
namespace {

using nlohmann::ordered_json;

std::string text_of(const std::filesystem::path& path) {
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

/// UTC as programs read it, seconds.
double wall_clock() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
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
  counters.voluntary_context_switches = field(texts.status, "voluntary_ctxt_switches");
  counters.core_migrations = field(texts.sched, "se.nr_migrations");
  counters.tracer = field(texts.status, "TracerPid");
  for (const std::string& text : texts.cpu_stats) {
    counters.throttled_s.push_back(throttled_s(text));
  }
  if (const auto ticks = steal_ticks(texts.stat)) counters.steal_s = *ticks / ticks_per_second;
  std::array<double, 3> load{};
  if (std::istringstream(texts.loadavg) >> load[0] >> load[1] >> load[2]) {
    counters.load_average = load;
  }
  return counters;
}

Counters read_counters() {
  std::vector<std::string> cpu_stats;
  for (const auto& file :
       cpu_stat_files(text_of("/proc/self/cgroup"), text_of("/proc/self/mountinfo"))) {
    cpu_stats.push_back(text_of(file));
  }
  return parse_counters({.status = text_of("/proc/self/status"),
                         .sched = text_of("/proc/self/sched"),
                         .stat = text_of("/proc/stat"),
                         .loadavg = text_of("/proc/loadavg"),
                         .cpu_stats = std::move(cpu_stats)},
                        static_cast<double>(sysconf(_SC_CLK_TCK)));
}

double read_clock(clockid_t clock) {
  timespec time{};
  syscall(SYS_clock_gettime, clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::optional<double> waited_s() {
  static const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  std::array<char, 100> text{};
  if (file < 0 || pread(file, text.data(), text.size() - 1, 0) <= 0) return std::nullopt;
  // time on the processor, time waiting for one (both ns), slices
  std::int64_t ran_ns = 0;
  std::int64_t waited_ns = 0;
  if (std::istringstream(text.data()) >> ran_ns >> waited_ns) {
    return 1e-9 * static_cast<double>(waited_ns);
  }
  return std::nullopt;
}

RankWatch::RankWatch() : counters_(read_counters()), times_(read_times()) {}

RankWatch::Times RankWatch::read_times() {
  return {.monotonic_s = read_clock(CLOCK_MONOTONIC),
          .boot_s = read_clock(CLOCK_BOOTTIME),
          .utc_s = wall_clock(),
          .cpu_s = read_clock(CLOCK_THREAD_CPUTIME_ID),
          .waited_s = waited_s()};
}

ordered_json RankWatch::record() const {
  const Times end = read_times();
  const Counters counters = read_counters();
  std::optional<double> throttled_s;
  for (std::size_t i = 0; i < std::min(counters_.throttled_s.size(), counters.throttled_s.size());
       ++i) {
    const auto& start = counters_.throttled_s[i];
    const auto& last = counters.throttled_s[i];
    if (start && last) throttled_s = std::max(throttled_s.value_or(0), *last - *start);
  }
  const double duration_s = end.monotonic_s - times_.monotonic_s;
  return {
      {"involuntary_context_switches",
       difference(counters_.involuntary_context_switches, counters.involuntary_context_switches)},
      {"voluntary_context_switches",
       difference(counters_.voluntary_context_switches, counters.voluntary_context_switches)},
      {"core_migrations", difference(counters_.core_migrations, counters.core_migrations)},
      {"duration_s", duration_s},
      {"cpu_s", end.cpu_s - times_.cpu_s},
      {"waited_s", difference(times_.waited_s, end.waited_s)},
      {"throttled_s", or_null(throttled_s)},
      // The two clocks are read some hundred nanoseconds apart.
      {"suspended_s", std::max(0.0, end.boot_s - times_.boot_s - duration_s)},
      {"utc_step_s", end.utc_s - times_.utc_s - duration_s},
      {"tracer", or_null(std::max(counters_.tracer, counters.tracer))},
      {"steal_s", difference(counters_.steal_s, counters.steal_s)},
      {"load_average", or_null(counters.load_average)},
  };
}

}  // namespace roundtrip
