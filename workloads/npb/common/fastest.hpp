#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "npb/common/comm.hpp"

namespace roundtrip::npb {

/// One of several ways to compute the same result.
struct Way {
  std::string name;
  std::function<void()> run;
};

/// The chosen way, and the time of each way on the slowest rank, seconds.
struct Choice {
  std::string of;  ///< name of the computation
  std::size_t chosen = 0;
  std::vector<std::string> ways;
  std::vector<double> seconds;
};

/// Collective: runs the ways in turn, 3 to 50 rounds, until 10 ms have passed, and chooses, on all
/// ranks, the way with the least time on the slowest rank; of equal times, the first. A way's time
/// is its minimum over the rounds. A simulation runs only the first way, once. Call it outside of
/// timed sections. `clock` returns seconds.
Choice fastest(const Comm& comm, const std::string& of, std::span<const Way> ways,
               const std::function<double()>& clock = now);

}  // namespace roundtrip::npb
