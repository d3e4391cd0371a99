#include "npb/cg/products.hpp"

#include <array>

#include "npb/cg/product_by_vectors.hpp"

namespace roundtrip::npb::cg {

std::span<const Product> products() {
  static constexpr std::array<Product, 3> all{{{"by fours", multiply_by_fours},
                                               {"by vectors", multiply_by_vectors},
                                               {"by gathers", multiply_by_gathers}}};
  return all;
}

void multiply_by_fours(const SparseBlock& block, const double* __restrict p, double* __restrict w) {
  const int* __restrict column = block.column.data();
  const double* __restrict value = block.value.data();
  const std::int64_t* first = block.first.data();
  const int rows = block.rows();
  for (int i = 0; i < rows; ++i) {
    double a = 0;
    double b = 0;
    double c = 0;
    double d = 0;
    std::int64_t k = first[i];
    for (; k + 3 < first[i + 1]; k += 4) {
      a += value[k] * p[column[k]];
      b += value[k + 1] * p[column[k + 1]];
      c += value[k + 2] * p[column[k + 2]];
      d += value[k + 3] * p[column[k + 3]];
    }
    for (; k < first[i + 1]; ++k) a += value[k] * p[column[k]];
    w[i] = (a + b) + (c + d);
  }
}

void multiply_by_vectors(const SparseBlock& block, const double* p, double* w) {
  multiply_in_vectors(block, p, w);
}

}  // namespace roundtrip::npb::cg
