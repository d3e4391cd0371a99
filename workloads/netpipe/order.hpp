#pragma once

#include <cstddef>
#include <vector>

#include "netpipe/schedule.hpp"

namespace roundtrip::netpipe {

/// In which order sizes are first measured, as places in the schedule.
struct SurveyOrder {
  std::vector<std::size_t> coarse;  ///< a grid over the whole range: first, last, then between
  std::vector<std::size_t> fine;    ///< all others, in the same way
};

/// `0 .. count - 1`: the first, the last, then always the middle of the widest gap, so that however
/// early it ends, what was taken is spread over all.
std::vector<std::size_t> spread(std::size_t count);

/// The coarse grid has centre sizes only: the first, each that is at least four times the one
/// before it, and the last. From 1 byte on these are the powers of four, and so every size that
/// reports compare.
SurveyOrder survey_order(const std::vector<SizePoint>& points);

}  // namespace roundtrip::netpipe
