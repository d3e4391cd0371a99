#include "npb/common/ranks.hpp"

#include <bit>
#include <cmath>

namespace roundtrip::npb {

RankRule any_number() {
  return {"any number", [](int ranks) { return ranks >= 1; }};
}

RankRule power_of_two(int most) {
  return {"a power of two, at most " + std::to_string(most), [most](int ranks) {
            return ranks >= 1 && ranks <= most && std::has_single_bit(static_cast<unsigned>(ranks));
          }};
}

RankRule perfect_square(int most) {
  return {"a square, at most " + std::to_string(most * most), [most](int ranks) {
            const int side = static_cast<int>(std::lround(std::sqrt(ranks)));
            return ranks >= 1 && side * side == ranks && side <= most;
          }};
}

std::string legal_counts(const RankRule& rule, int limit) {
  std::string list;
  bool beyond = false;
  for (int ranks = 1; ranks <= 4 * limit && !beyond; ++ranks) {
    if (!rule.legal(ranks)) continue;
    list += (list.empty() ? "" : ", ") + std::to_string(ranks);
    beyond = ranks > limit;
  }
  return list;
}

}  // namespace roundtrip::npb
