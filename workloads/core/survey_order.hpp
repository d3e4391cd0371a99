#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace roundtrip {

/// Order in which sizes are first measured, as indices of their list.
struct SurveyOrder {
  std::vector<std::size_t> coarse;  ///< a grid over the whole range: first, last, then between
  std::vector<std::size_t> fine;    ///< all others, in the same order
};

/// `0 .. count - 1`: the first, the last, then always the middle of the widest gap, so that every
/// prefix is spread over the whole range.
std::vector<std::size_t> spread(std::size_t count);

/// The coarse grid of ascending `sizes`, bytes, at indices that `may_be_coarse`: the first, each at
/// least four times the previous one in the grid, and the last. From 1 byte on these are the powers
/// of four, which include every size that reports compare.
SurveyOrder survey_order(
    const std::vector<std::int64_t>& sizes,
    const std::function<bool(std::size_t)>& may_be_coarse = [](std::size_t) { return true; });

}  // namespace roundtrip
