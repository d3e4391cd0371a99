#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/clock.hpp"
#include "core/recorder.hpp"
#include "core/session.hpp"

namespace roundtrip {

/// Flags of every workload.
struct CommonFlags {
  std::string samples;     ///< path of samples.csv; empty: nothing is written
  double budget_s = 40;    ///< seconds the launch may take
  std::uint32_t seed = 0;  ///< of the random order; drawn at random unless given
};

/// One run of a workload: its input and its results.
struct Launch {
  const Session& session;
  const CommonFlags& flags;
  ClockQuality clock;
  Recorder recorder;              ///< samples, at the root
  nlohmann::ordered_json record;  ///< the workload's own entries of run.json, at the root

  /// Seconds of the budget that are left; negative once it is spent.
  [[nodiscard]] double time_left() const { return session.start() + flags.budget_s - now(); }
};

}  // namespace roundtrip
