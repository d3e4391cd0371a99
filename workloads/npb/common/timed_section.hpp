#pragma once

#include <vector>

#include "npb/common/comm.hpp"

namespace roundtrip::npb {

/// One iteration of a benchmark, over all ranks.
struct Iteration {
  double seconds = 0;        ///< of the slowest rank
  double compute = 0;        ///< time outside of MPI, mean over the ranks
  TrafficByPattern traffic;  ///< seconds: mean over the ranks; messages and bytes: their sum
};

/// Time of one rank in all iterations, seconds.
struct RankTime {
  double compute = 0;
  double communication = 0;  ///< in MPI, waiting included
};

/// The timed part of a benchmark, with its iterations. It neither communicates nor prints between
/// start() and stop().
class TimedSection {
 public:
  explicit TimedSection(Comm& comm) : comm_(comm) {}

  /// Collective: after a barrier, resets the counters and starts the clock.
  void start();

  /// Excludes the time since start() or the last lap() from the iterations.
  void skip();

  /// Ends an iteration and begins the next.
  void lap();

  /// Collective: stops the clock.
  void stop();

  /// Time of the slowest rank.
  [[nodiscard]] double seconds() const { return seconds_; }

  /// Collective, after stop(): the iterations, at the root; empty elsewhere.
  [[nodiscard]] std::vector<Iteration> iterations() const;

  /// Collective, after stop(): every rank's time, at the root.
  [[nodiscard]] std::vector<RankTime> rank_times() const;

  /// Collective, after stop(): messages of the whole section by size, at the root.
  [[nodiscard]] MessageSizes sizes() const;

 private:
  struct Mark {
    double time = 0;  ///< clock reading, or time since the previous mark
    TrafficByPattern traffic;
  };

  Comm& comm_;
  double start_ = 0;
  Mark begin_;              ///< of the current iteration
  std::vector<Mark> laps_;  ///< duration and traffic of the iterations
  double seconds_ = 0;
  MessageSizes sizes_;
};

}  // namespace roundtrip::npb
