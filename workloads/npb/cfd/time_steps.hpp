#pragma once

#include <functional>
#include <string>

#include "npb/cfd/fields.hpp"
#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::cfd {

/// What BT and SP have in common.
struct TimeSteps {
  char problem_class;
  int n;
  int steps;
  double dt;
  Norms published;
};

/// Collective: an untimed step, then the timed ones from the start again; verifies and prints.
/// `step` returns what Fields::add_change does.
Outcome run_time_steps(const TimeSteps& run, Fields& fields, const std::function<State()>& step,
                       Comm& comm, TimedSection& section);

}  // namespace roundtrip::npb::cfd
