#pragma once

#include <functional>
#include <string>

#include "npb/cfd/fields.hpp"
#include "npb/common/benchmark.hpp"

namespace roundtrip::npb::cfd {

/// Parameters of BT and SP.
struct TimeSteps {
  char problem_class;
  int n;
  int steps;
  double dt;
  Norms published;
};

/// Collective: makes one untimed step, resets the fields, makes the timed steps, verifies and
/// prints. `step` returns the result of Fields::add_change.
Outcome run_time_steps(const TimeSteps& run, Fields& fields, const std::function<State()>& step,
                       Comm& comm, TimedSection& section);

}  // namespace roundtrip::npb::cfd
