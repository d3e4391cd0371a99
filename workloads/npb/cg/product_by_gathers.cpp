// Only this file is compiled with gather instructions.
#include "npb/cg/product_by_vectors.hpp"
#include "npb/cg/products.hpp"

namespace roundtrip::npb::cg {

void multiply_by_gathers(const SparseBlock& block, const double* p, double* w) {
  multiply_in_vectors(block, p, w);
}

}  // namespace roundtrip::npb::cg
