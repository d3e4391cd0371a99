#include "npb/cg/cg.hpp"
#include "npb/common/benchmark.hpp"
#include "npb/ep/ep.hpp"
#include "npb/ft/ft.hpp"
#include "npb/is/is.hpp"
#include "npb/lu/lu.hpp"
#include "npb/mg/mg.hpp"

namespace roundtrip::npb {

std::vector<Entry> all_benchmarks() {
  return {cg::entry(), ep::entry(), ft::entry(), is::entry(), lu::entry(), mg::entry()};
}

}  // namespace roundtrip::npb
