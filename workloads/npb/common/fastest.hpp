#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "npb/common/comm.hpp"

namespace roundtrip::npb {

/// One of several ways to compute the same.
struct Way {
  std::string name;
  std::function<void()> run;
};

/// Which way was chosen, and the time that each took: seconds, on the slowest rank.
struct Choice {
  std::string of;  ///< what there were several ways for
  std::size_t chosen = 0;
  std::vector<std::string> ways;
  std::vector<double> seconds;
};

/// Collective: tries the ways in turn, a few milliseconds long, and chooses on all ranks the one
/// that the slowest rank does fastest; of equals the first. A way's time is that of its shortest
/// trial. For untimed sections; `clock`: seconds.
Choice fastest(const Comm& comm, const std::string& of, std::span<const Way> ways,
               const std::function<double()>& clock = now);

}  // namespace roundtrip::npb
