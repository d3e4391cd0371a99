#pragma once

#include <span>

#include "npb/cg/matrix.hpp"

namespace roundtrip::npb::cg {

/// A way to multiply: w = A p for the block. All ways give the same result up to rounding.
struct Product {
  const char* name;
  void (*multiply)(const SparseBlock& block, const double* p, double* w);
};

/// All ways. The fastest way depends on the processor.
std::span<const Product> products();

/// Adds the elements of a row to four independent sums.
void multiply_by_fours(const SparseBlock& block, const double* p, double* w);

/// Multiply vectors of elements. The first loads the elements of p one by one, the second by gather
/// instructions, which are as fast on some processors and take twice as long on others.
void multiply_by_vectors(const SparseBlock& block, const double* p, double* w);
void multiply_by_gathers(const SparseBlock& block, const double* p, double* w);

}  // namespace roundtrip::npb::cg
