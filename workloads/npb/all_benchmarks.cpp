#include "npb/cg/cg.hpp"
#include "npb/common/benchmark.hpp"
#include "npb/ep/ep.hpp"
#include "npb/is/is.hpp"

namespace roundtrip::npb {

std::vector<Entry> all_benchmarks() {
  return {cg::entry(), ep::entry(), is::entry()};
}

}  // namespace roundtrip::npb
