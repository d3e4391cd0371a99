#include "core/interleaver.hpp"

namespace roundtrip {

std::size_t Interleaver::below(std::size_t bound) {
  // The last, incomplete stretch of the generator's range would favour small numbers: redraw.
  constexpr std::uint64_t largest = std::mt19937_64::max();
  const std::uint64_t limit = largest - largest % bound;
  std::uint64_t draw = random_();
  while (draw >= limit) draw = random_();
  return draw % bound;
}

}  // namespace roundtrip
