#pragma once

#include <cstdint>
#include <vector>

namespace roundtrip::netpipe {

/// Sizes in bytes.
struct ScheduleRange {
  std::int64_t start = 1;
  std::int64_t end = 8'388'608;   ///< bounds the centre size, not centre + perturbation
  std::int64_t perturbation = 3;  ///< 0: centre sizes only
};

/// One size to measure; `increment` is that of the schedule at this size.
struct SizePoint {
  std::int64_t size = 0;
  std::int64_t increment = 0;
  std::int64_t centre = 0;

  [[nodiscard]] bool is_centre() const { return size == centre; }
};

/// The sizes of NetPIPE 3.7.2: powers of two and 1.5 times them, each also with the perturbation
/// below and above once the steps are wide enough.
std::vector<SizePoint> size_schedule(const ScheduleRange& range);

/// Exchanges in one trial of NetPIPE 3.7.2: as many as take 0.10 s at the time per byte of the
/// previous point (`previous_size` bytes, `previous_s` seconds one way); at least 3.
std::int64_t repeats(std::int64_t previous_size, std::int64_t increment, double previous_s);

}  // namespace roundtrip::netpipe
