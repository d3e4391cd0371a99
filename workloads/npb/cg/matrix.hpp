#pragma once

#include <cstdint>

#include "npb/cg/layout.hpp"
#include "npb/common/array.hpp"

namespace roundtrip::npb::cg {

/// A block of a sparse matrix by rows: the elements of row i are first[i] .. first[i + 1].
struct SparseBlock {
  Array<std::int64_t> first;
  Array<int> column;  ///< within the block
  Array<double> value;

  [[nodiscard]] int rows() const { return static_cast<int>(first.size()) - 1; }
};

/// This rank's block of the matrix of CG: sum over i of w^i x_i x_i^T, plus (0.1 - shift) I.
/// x_i is sparse: `nonzeros` random elements and 1/2 at i; w^n = 0.1 (RNR-94-007, section 2.6).
SparseBlock make_matrix(const Layout& layout, int n, int nonzeros, double shift);

}  // namespace roundtrip::npb::cg
