#include "core/clock.hpp"

#include <algorithm>
#include <limits>

#include "core/simulation.hpp"

namespace roundtrip {

ClockQuality examine_clock() {
  if constexpr (simulated) return {.resolution_s = precision_of_a_simulation_s, .overhead_s = 0};
  constexpr int readings = 10'000;
  double step = std::numeric_limits<double>::infinity();
  const double first = now();
  double previous = first;
  for (int i = 0; i < readings; ++i) {
    const double reading = now();
    if (reading > previous) step = std::min(step, reading - previous);
    previous = reading;
  }
  if (previous == first) return {.resolution_s = MPI_Wtick(), .overhead_s = 0};
  return {.resolution_s = step, .overhead_s = (previous - first) / readings};
}

}  // namespace roundtrip
