#pragma once

#include <string>
#include <vector>

#include "ring/survey.hpp"

namespace roundtrip::ring {

/// The medians for people, in microseconds: a line a size, a column a transport. `*`: the precision
/// was not reached; `bounded`: too slow from here on; `-`: not measured.
std::string median_table(const std::vector<std::string>& names,
                         const std::vector<PointResult>& results);

}  // namespace roundtrip::ring
