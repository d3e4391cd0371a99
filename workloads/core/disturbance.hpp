#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "core/counters.hpp"
#include "core/rank_clocks.hpp"
#include "core/session.hpp"

namespace roundtrip {

/// Watches for disturbances of this rank, from construction on.
class DisturbanceWatch {
 public:
  /// Collective.
  explicit DisturbanceWatch(const Session& session);

  /// Collective: disturbances of every rank since construction, for run.json (root only; null in a
  /// simulation, which has none). Steal time is summed over the hosts; load averages are those of
  /// the root's host.
  [[nodiscard]] nlohmann::ordered_json record() const;

 private:
  [[nodiscard]] nlohmann::ordered_json mine() const;

  const Session& session_;
  std::vector<ClockOffset> offsets_;
  std::optional<RankWatch> watch_;  ///< empty in a simulation
  double clock_ahead_s_ = 0;        ///< the clock of all measurements against the kernel's
};

}  // namespace roundtrip
