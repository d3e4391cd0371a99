#pragma once

#include <span>

#include "npb/cg/matrix.hpp"

namespace roundtrip::npb::cg {

/// A way to multiply: w = A p for the block. All ways give the same but for rounding.
struct Product {
  const char* name;
  void (*multiply)(const SparseBlock& block, const double* p, double* w);
};

/// Every way that there is. Which is the fastest depends on the processor.
std::span<const Product> products();

/// Elements of a row added to four sums that do not wait for each other.
void multiply_by_fours(const SparseBlock& block, const double* p, double* w);

/// Vectors of elements; those of p put in one by one, or fetched by gather instructions where the
/// processor has such: on some they are as fast, on others they take twice as long.
void multiply_by_vectors(const SparseBlock& block, const double* p, double* w);
void multiply_by_gathers(const SparseBlock& block, const double* p, double* w);

}  // namespace roundtrip::npb::cg
