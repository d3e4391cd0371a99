#include "ddtbench/record.hpp"

#include <array>
#include <cstdio>

#include "core/launch.hpp"
#include "core/median.hpp"

namespace roundtrip::ddtbench {
namespace {

using nlohmann::ordered_json;

ordered_json point(const Case& item, const ArmResult& arm) {
  ordered_json point = point_record(item.app + '/' + name_of(arm.buffering), arm.point);
  point["parameters"] = item.parameters;
  point["inner"] = arm.inner;
  point["discarded"] = arm.discarded;
  if (arm.finding) {
    point["finding"] = {{"call", arm.finding->call},
                        {"error", arm.finding->error},
                        {"consequence", arm.finding->consequence}};
  }
  return point;
}

double median_of(const std::vector<double>& samples) {
  return estimate_median(samples).median;
}

/// Network time, seconds: the round trip of manual packing minus the packing on both ranks. Rank
/// 1's packing is part of `communication` and is assumed to take as long as rank 0's.
double network_time(const Samples& manual) {
  std::vector<double> times;
  for (std::size_t i = 0; i < manual.communication.size(); ++i) {
    times.push_back(manual.communication[i] - manual.pack[i] - manual.unpack[i]);
  }
  return median_of(times);
}

}  // namespace

void record(const Case& item, const std::vector<ArmResult>& results, Launch& launch) {
  for (const ArmResult& arm : results) {
    launch.record["points"].push_back(point(item, arm));
    launch.record["warmup_discarded"] =
        launch.record.value("warmup_discarded", std::int64_t{0}) + arm.discarded;
    using Epoch = std::pair<const char*, const std::vector<double>&>;
    const std::array<Epoch, 7> epochs = {{
        {"ddt_create_overhead", arm.samples.create},
        {"pack", arm.samples.pack},
        {"communication", arm.samples.communication},
        {"unpack", arm.samples.unpack},
        {"ddt_free_overhead", arm.samples.free},
        {"ddt_create_again", arm.samples.create_again},
        {"ddt_free_again", arm.samples.free_again},
    }};
    for (const auto& [phase, samples] : epochs) {
      if (samples.empty()) continue;
      launch.recorder.open({.study = "ddtbench",
                            .case_name = item.app + '/' + name_of(arm.buffering),
                            .variant = std::string(arm.method->name),
                            .size_bytes = static_cast<std::int64_t>(item.bytes),
                            .phase = phase,
                            .metric = metrics::epoch_time}) = samples;
    }
  }
}

void print_case(const Case& item, const std::vector<ArmResult>& results) {
  for (std::size_t first = 0; first < results.size();) {
    const Buffering buffering = results[first].buffering;
    std::size_t last = first;
    double network_s = 0;
    for (; last < results.size() && results[last].buffering == buffering; ++last) {
      const ArmResult& arm = results[last];
      if (arm.method->name == "manual") network_s = network_time(arm.samples);
    }
    std::printf("%-14s %9zu B %-8s", item.app.c_str(), item.bytes, name_of(buffering).c_str());
    for (; first < last; ++first) {
      const ArmResult& arm = results[first];
      const std::string name(arm.method->name);
      if (arm.samples.communication.empty()) {
        std::printf("  %s refused", name.c_str());
        continue;
      }
      const double trip_s = arm.point.estimate->median;
      std::printf("  %s %.2f us", name.c_str(), trip_s * 1e6);
      if (network_s > 0 && arm.method->creates) {
        std::printf(" (%.0f %%)", 100 * (trip_s - network_s) / trip_s);
      }
    }
    std::printf("\n");
  }
  std::fflush(stdout);
}

}  // namespace roundtrip::ddtbench
