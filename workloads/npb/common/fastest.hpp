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

/// Which way was chosen, and the time that each took: seconds, on the slowest rank.
struct Choice {
  std::string of;  ///< what all these ways compute
  std::size_t chosen = 0;
  std::vector<std::string> ways;
  std::vector<double> seconds;
};

/// Collective: runs the ways in turn for a few milliseconds and chooses, on all ranks, the way that
/// takes the slowest rank the least time; the first of equals. A way's time is that of its shortest
/// trial. Simulated, it runs the first way, once, and knows no other. Call it outside of timed
/// sections. `clock` returns seconds.
Choice fastest(const Comm& comm, const std::string& of, std::span<const Way> ways,
               const std::function<double()>& clock = now);

}  // namespace roundtrip::npb
