#pragma once

#include "npb/cg/matrix.hpp"

namespace roundtrip::npb::cg {

/// w = A p, several elements of a row at a time. The compiler flags of the including file decide
/// how elements of p are loaded into a vector. Inlined, so that each file has its own version.
[[gnu::always_inline]] inline void multiply_in_vectors(const SparseBlock& block,
                                                       const double* __restrict p,
                                                       double* __restrict w) {
  const int* __restrict column = block.column.data();
  const double* __restrict value = block.value.data();
  const std::int64_t* first = block.first.data();
  const int rows = block.rows();
  for (int i = 0; i < rows; ++i) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = first[i]; k < first[i + 1]; ++k) sum += value[k] * p[column[k]];
    w[i] = sum;
  }
}

}  // namespace roundtrip::npb::cg
