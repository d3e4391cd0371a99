#pragma once

#include <cstdint>
#include <vector>

#include "ddtbench/arm.hpp"

namespace roundtrip {
struct Launch;
}

namespace roundtrip::ddtbench {

/// What is compared in each case, and how long it is repeated.
struct Plan {
  std::vector<Buffering> bufferings;
  std::vector<const MethodInfo*> methods;
  double precision = 0.02;        ///< relative half-width of the median's interval to reach
  std::size_t evicted_bytes = 0;  ///< what `cold` walks through
  std::uint32_t seed = 0;         ///< of the order of index lists
};

/// Collective over the ends, whose rank 0 is the root of the launch: measures one case, every
/// method with every buffering, until all are as precise as planned or `seconds` are over, but at
/// least one round. Throws Failure(wrong_data) naming app, method and element, on all ends.
std::vector<ArmResult> survey(const Case& item, MicroApp& app, const Plan& plan, const Ends& ends,
                              Launch& launch, double seconds);

}  // namespace roundtrip::ddtbench
