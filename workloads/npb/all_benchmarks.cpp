#include "npb/common/benchmark.hpp"
#include "npb/ep/ep.hpp"

namespace roundtrip::npb {

std::vector<Entry> all_benchmarks() {
  return {ep::entry()};
}

}  // namespace roundtrip::npb
