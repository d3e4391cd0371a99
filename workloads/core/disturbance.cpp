#include "core/disturbance.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "core/clock.hpp"
#include "core/simulation.hpp"
#include "core/stops.hpp"

namespace roundtrip {
namespace {

using nlohmann::ordered_json;

double clock_ahead_s() {
  const double measuring_s = now();
  return measuring_s - read_clock(CLOCK_MONOTONIC);
}

}  // namespace

DisturbanceWatch::DisturbanceWatch(const Session& session) : session_(session) {
  if constexpr (simulated) return;
  offsets_ = compare_clocks(session);
  watch_stops();
  watch_.emplace();
  clock_ahead_s_ = clock_ahead_s();
}

ordered_json DisturbanceWatch::mine() const {
  const double step_s = clock_ahead_s() - clock_ahead_s_;
  const Stops stopped = stops();
  auto one = watch_->record();
  one["continued"] = stopped.continued;
  one["longest_stop_s"] = stopped.longest_s ? ordered_json(*stopped.longest_s) : nullptr;
  one["clock_step_s"] = step_s;
  return one;
}

ordered_json DisturbanceWatch::record() const {
  if constexpr (simulated) return nullptr;
  const auto texts = session_.gather(mine().dump());
  const auto offsets = compare_clocks(session_);
  if (!session_.root()) return nullptr;
  ordered_json all = {
      {"load_average_start",
       watch_->start().load_average ? ordered_json(*watch_->start().load_average) : nullptr},
      {"load_average_end", nullptr},
      {"steal_s", nullptr}};
  std::set<std::string> seen;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    auto one = ordered_json::parse(texts[rank]);
    if (rank == 0) all["load_average_end"] = one["load_average"];
    if (seen.insert(session_.placement()[rank].host).second && one["steal_s"].is_number()) {
      const double before = all["steal_s"].is_number() ? all["steal_s"].get<double>() : 0;
      all["steal_s"] = before + one["steal_s"].get<double>();
    }
    one.erase("steal_s");
    one.erase("load_average");
    const ClockRate rate = rate_between(offsets_[rank], offsets[rank]);
    one.update({{"clock_rate", rate.rate},
                {"clock_rate_error", rate.error},
                {"utc_ahead_s", offsets[rank].utc_ahead_s}});
    for (const auto& [name, value] : one.items()) all[name].push_back(value);
  }
  return all;
}

}  // namespace roundtrip
