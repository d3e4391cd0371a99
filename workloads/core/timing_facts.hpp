#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace roundtrip {

/// How samples are timed, in the words of run.json. An empty fact is left out.
struct TimingFacts {
  std::string clock = "one rank";        ///< ranks whose clock is read: `one rank`, `each rank`
  std::string synchronisation = "none";  ///< before a sample: `barrier`, `message`, `none`
  std::string over_ranks = "one rank";   ///< reduction of the times: `one rank`, `maximum`
  std::string cache = "warm";            ///< before a sample: `warm`, `flushed`
};

/// Adds the facts to `timing` in the record of a launch; a fact with different values is `several`.
void record_timing(nlohmann::ordered_json& record, const TimingFacts& facts);

}  // namespace roundtrip
