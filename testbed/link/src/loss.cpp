#include "loss.hpp"

namespace rtlink {

void Loss::configure(double probability, std::uint64_t seed) {
  probability_ = probability;
  engine_.seed(seed);
}

bool Loss::next() {
  if (probability_ <= 0) return false;
  // Uses 53 bits of the engine: a std distribution may differ between standard libraries.
  constexpr double kScale = 0x1.0p-53;
  return static_cast<double>(engine_() >> 11) * kScale < probability_;
}

}  // namespace rtlink
