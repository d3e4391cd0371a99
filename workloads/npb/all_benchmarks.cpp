#include "npb/bt/bt.hpp"
#include "npb/cg/cg.hpp"
#include "npb/common/benchmark.hpp"
#include "npb/ep/ep.hpp"
#include "npb/ft/ft.hpp"
#include "npb/is/is.hpp"
#include "npb/lu/lu.hpp"
#include "npb/mg/mg.hpp"
#include "npb/sp/sp.hpp"

namespace roundtrip::npb {

std::vector<Entry> all_benchmarks() {
  return {bt::entry(), cg::entry(), ep::entry(), ft::entry(),
          is::entry(), lu::entry(), mg::entry(), sp::entry()};
}

}  // namespace roundtrip::npb
