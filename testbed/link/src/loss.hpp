// Selects the frames to lose: the same for the same seed and the same sequence of calls.
#pragma once

#include <cstdint>
#include <random>

namespace rtlink {

class Loss {
 public:
  // `probability` 0..1.
  void configure(double probability, std::uint64_t seed);

  bool next();

 private:
  double probability_ = 0;
  std::mt19937_64 engine_;
};

}  // namespace rtlink
