#include "core/timing_facts.hpp"

#include <nlohmann/json.hpp>

namespace roundtrip {

void record_timing(nlohmann::ordered_json& record, const TimingFacts& facts) {
  auto& timing = record["timing"];
  const auto add = [&](const char* name, const std::string& fact) {
    if (fact.empty()) return;
    timing[name] = timing.contains(name) && timing[name] != fact ? "several" : fact;
  };
  add("clock", facts.clock);
  add("synchronisation", facts.synchronisation);
  add("over_ranks", facts.over_ranks);
  add("cache", facts.cache);
}

}  // namespace roundtrip
