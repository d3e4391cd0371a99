#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ddtbench/admission.hpp"
#include "ddtbench/catalogue.hpp"
#include "ddtbench/measure.hpp"

namespace roundtrip::ddtbench {

/// What happens to memory between exchanges.
enum class Buffering {
  original,  ///< nothing, as in DDTBench: packing sends from the buffer that it receives into
  same,      ///< for every method both ends rewrite all they may send and read all they may receive
  cold       ///< the same, and then both ends push it out of their caches
};

/// `original`, `same`, `cold`.
const std::vector<std::string>& buffering_names();

/// What is compared in each case, and how long it is repeated.
struct Plan {
  std::vector<Buffering> bufferings;
  std::vector<const MethodInfo*> methods;
  double precision = 0.02;        ///< relative half-width of the median's interval to reach
  std::size_t evicted_bytes = 0;  ///< what `cold` walks through
  std::uint32_t seed = 0;
};

/// One method with one buffering, measured.
struct ArmResult {
  Buffering buffering = Buffering::original;
  const MethodInfo* method = nullptr;
  Samples samples;    ///< at rank 0; none if the MPI library refused
  int inner = 0;      ///< exchanges in each outer iteration
  int discarded = 0;  ///< exchanges that were not kept
  bool converged = false;
  bool skips_unpack = false;  ///< what is received lies where it belongs
  std::optional<Finding> finding;
};

/// Collective over the ends: measures one case in rounds, in each round every arm once, in random
/// order, until all are as precise as planned or `seconds` are over (rank 0's count), but at least
/// one round. Throws Failure(wrong_data) naming app, method and element, on all ends.
std::vector<ArmResult> survey(const Case& item, MicroApp& app, const Plan& plan, const Ends& ends,
                              double seconds);

}  // namespace roundtrip::ddtbench
