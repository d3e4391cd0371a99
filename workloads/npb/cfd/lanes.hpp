#pragma once

#include <cstddef>

namespace roundtrip::npb::cfd {

/// One number from each of `lanes` adjacent grid lines: a vector type of GCC and Clang.
inline constexpr std::size_t lanes = 8;
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;

/// Loads lane l from p[l * apart].
[[gnu::always_inline]] inline Lanes load(const double* p, std::ptrdiff_t apart) {
  if (apart == 1) {
    Lanes v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
  return Lanes{p[0],         p[apart],     p[2 * apart], p[3 * apart],
               p[4 * apart], p[5 * apart], p[6 * apart], p[7 * apart]};
}

/// Stores lane l at p[l * apart], for the first `count` lanes.
[[gnu::always_inline]] inline void store(Lanes v, double* p, std::ptrdiff_t apart, int count) {
  if (apart == 1 && count == static_cast<int>(lanes)) {
    __builtin_memcpy(p, &v, sizeof v);
    return;
  }
  for (int l = 0; l < count; ++l) p[l * apart] = v[l];
}

}  // namespace roundtrip::npb::cfd
