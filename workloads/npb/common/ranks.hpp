#pragma once

#include <string>

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb {

RankRule any_number();

/// `most`: the greatest legal count, a power of two.
RankRule power_of_two(int most);

/// `most`: the square root of the greatest legal count.
RankRule perfect_square(int most);

/// Legal counts up to `limit` and the first above, for a message: `1, 2, 4, 8`.
std::string legal_counts(const RankRule& rule, int limit);

}  // namespace roundtrip::npb
