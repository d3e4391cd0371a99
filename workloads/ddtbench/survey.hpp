#pragma once

#include <cstdint>
#include <vector>

#include "ddtbench/arm.hpp"

namespace roundtrip {
struct Launch;
}

namespace roundtrip::ddtbench {

/// Methods and bufferings to compare in each case, and parameters of the comparison.
struct Plan {
  std::vector<Buffering> bufferings;
  std::vector<const MethodInfo*> methods;
  double precision = 0.02;        ///< target relative half-width of the median's interval
  std::size_t evicted_bytes = 0;  ///< memory that `cold` writes to evict the caches
  std::uint32_t seed = 0;         ///< of the order of index lists
};

/// Collective over the ends, whose rank 0 is the root of the launch: measures every method with
/// every buffering in one case, until all have the planned precision or `seconds` have passed, but
/// at least one round. Throws Failure(wrong_data) with app, method and element, on all ends.
std::vector<ArmResult> survey(const Case& item, MicroApp& app, const Plan& plan, const Ends& ends,
                              Launch& launch, double seconds);

}  // namespace roundtrip::ddtbench
