#pragma once

#include <vector>

#include "npb/common/comm.hpp"

namespace roundtrip::npb {

/// One iteration of a benchmark, over all ranks.
struct Iteration {
  double seconds = 0;        ///< of the slowest rank
  double compute = 0;        ///< mean over the ranks: the time not in MPI
  TrafficByPattern traffic;  ///< seconds: mean over the ranks; messages and bytes: their sum
};

/// The part of a benchmark that counts, with its iterations. Nothing is communicated or written
/// for its sake between start() and stop().
class TimedSection {
 public:
  explicit TimedSection(Comm& comm) : comm_(comm) {}

  /// Collective: all ranks meet, the counters go to zero, the clock starts.
  void start();

  /// An iteration ends here.
  void lap();

  /// Collective: the clock stops. What has happened since the last lap belongs to no iteration.
  void stop();

  /// Time of the slowest rank.
  [[nodiscard]] double seconds() const { return seconds_; }

  /// Collective, after stop(): the iterations, at the root; empty elsewhere.
  [[nodiscard]] std::vector<Iteration> iterations() const;

  /// Collective, after stop(): messages of the whole section by size, at the root.
  [[nodiscard]] MessageSizes sizes() const;

 private:
  struct Mark {
    double time = 0;
    TrafficByPattern traffic;
  };

  Comm& comm_;
  std::vector<Mark> marks_;
  double seconds_ = 0;
  MessageSizes sizes_;
};

}  // namespace roundtrip::npb
