#pragma once

#include <vector>

#include "npb/cfd/fields.hpp"
#include "npb/cfd/jacobian.hpp"
#include "npb/cfd/line_solver.hpp"

namespace roundtrip::npb::bt {

using Column = cfd::StateOf<cfd::Lanes>;
using Block = std::array<Column, cfd::equations>;  ///< [column][row]

/// Block-tridiagonal systems of direction d: A x_{i-1} + B x_i + C x_{i+1} = rhs, the linearised
/// implicit step. Elimination leaves x_i + C'_i x_{i+1} = r'_i; x replaces rhs.
template <std::size_t d>
class BlockScheme {
 public:
  /// C' and r' of the last point of a stage.
  struct Eliminated {
    Block c;
    Column r;
  };
  using Substituted = Column;

  explicit BlockScheme(cfd::Fields& fields);

  void reserve(std::size_t slots, int length);
  Eliminated eliminate(std::size_t cell, const cfd::Bundle& bundle, std::size_t slot,
                       Eliminated before);
  Substituted substitute(std::size_t cell, const cfd::Bundle& bundle, std::size_t slot,
                         Substituted behind);

 private:
  cfd::Fields& fields_;
  double second_;  ///< dt / h^2
  double first_;   ///< dt / (2 h)
  std::size_t length_ = 0;
  std::vector<Block> kept_;  ///< C' of each point of each slot
};

}  // namespace roundtrip::npb::bt
