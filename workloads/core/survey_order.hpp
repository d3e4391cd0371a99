#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace roundtrip {

/// In which order sizes are first measured, as places in their list.
struct SurveyOrder {
  std::vector<std::size_t> coarse;  ///< a grid over the whole range: first, last, then between
  std::vector<std::size_t> fine;    ///< all others, in the same way
};

/// `0 .. count - 1`: the first, the last, then always the middle of the widest gap, so that however
/// early it ends, what was taken is spread over all.
std::vector<std::size_t> spread(std::size_t count);

/// The coarse grid of ascending `sizes`, bytes: the first, each that is at least four times the one
/// before it, and the last, of those places that `may_be_coarse`. From 1 byte on these are the
/// powers of four, and so every size that reports compare.
SurveyOrder survey_order(
    const std::vector<std::int64_t>& sizes,
    const std::function<bool(std::size_t)>& may_be_coarse = [](std::size_t) { return true; });

}  // namespace roundtrip
