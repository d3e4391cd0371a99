#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace roundtrip {

/// How samples are taken, for people who judge them, in the words that readers of run.json know.
/// An empty fact is left out.
struct TimingFacts {
  std::string clock = "one rank";        ///< that is read: of `one rank`, of `each rank`
  std::string synchronisation = "none";  ///< before a sample: `barrier`, `message`, `none`
  std::string over_ranks = "one rank";   ///< whose time is the sample: `one rank`, `maximum`
  std::string cache = "warm";            ///< before a sample: `warm`, `flushed`
};

/// Adds to `timing` in the record of a launch; where that tells otherwise already, it is `several`.
void record_timing(nlohmann::ordered_json& record, const TimingFacts& facts);

}  // namespace roundtrip
