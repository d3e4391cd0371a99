#include "netpipe/schedule.hpp"

#include <algorithm>
#include <cstddef>

namespace roundtrip::netpipe {

std::vector<SizePoint> size_schedule(const ScheduleRange& range) {
  constexpr std::size_t most_points = 8000 - 3;
  std::vector<SizePoint> points;
  std::int64_t increment = range.start > 1 ? range.start / 2 : 1;
  int steps = range.start > 1 ? 1 : 0;
  for (std::int64_t centre = range.start; points.size() < most_points && centre <= range.end;
       centre += increment, ++steps) {
    if (steps > 2 && steps % 2 == 1) increment *= 2;
    const bool perturbed = range.perturbation > 0 && increment > range.perturbation + 1;
    const std::int64_t offset = perturbed ? range.perturbation : 0;
    for (std::int64_t size = centre - offset; size <= centre + offset;
         size += std::max<std::int64_t>(offset, 1)) {
      points.push_back({.size = size, .increment = increment, .centre = centre});
    }
  }
  return points;
}

std::int64_t repeats(std::int64_t previous_size, std::int64_t increment, double previous_s) {
  constexpr double trial_s = 0.10;
  constexpr double fewest = 3;
  const auto size = static_cast<double>(previous_size);
  const double growth = size / (size - static_cast<double>(increment) + 1);
  return static_cast<std::int64_t>(std::max(trial_s / (growth * previous_s), fewest));
}

}  // namespace roundtrip::netpipe
