#pragma once

#include <string>
#include <vector>

#include "netpipe/survey.hpp"

namespace roundtrip::netpipe {

/// The medians for people, in microseconds: a line a size, a column a variant. `*`: the precision
/// was not reached; `bounded`: too slow from here on; `-`: not measured.
std::string median_table(const std::vector<std::string>& variants,
                         const std::vector<PointResult>& results);

}  // namespace roundtrip::netpipe
