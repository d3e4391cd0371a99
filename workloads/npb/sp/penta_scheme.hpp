#pragma once

#include <vector>

#include "npb/cfd/fields.hpp"
#include "npb/cfd/line_solver.hpp"

namespace roundtrip::npb::sp {

/// Pentadiagonal systems of direction d in characteristic variables: one matrix for the three
/// variables with the speed u of the flow, one each for the waves with the speeds u + c and u - c.
/// Elimination leaves x_i + e_i x_{i+1} + f_i x_{i+2} = r_i; x replaces rhs.
class PentaScheme {
 public:
  static constexpr std::size_t matrices = 3;

  /// A row after elimination: e and f of each matrix, r of each variable.
  struct Row {
    std::array<cfd::Lanes, matrices> e;
    std::array<cfd::Lanes, matrices> f;
    std::array<cfd::Lanes, cfd::equations> r;
  };
  struct Eliminated {
    Row last;
    Row second_last;
  };
  struct Substituted {
    std::array<cfd::Lanes, cfd::equations> first;
    std::array<cfd::Lanes, cfd::equations> second;
  };

  /// `speeds`: speed of sound, a field for each cell.
  PentaScheme(cfd::Fields& fields, const std::vector<cfd::Scalar>& speeds, std::size_t d);

  void reserve(std::size_t slots, int length);
  Eliminated eliminate(std::size_t cell, const cfd::Bundle& bundle, std::size_t slot,
                       Eliminated before);
  Substituted substitute(std::size_t cell, const cfd::Bundle& bundle, std::size_t slot,
                         Substituted behind);

 private:
  cfd::Fields& fields_;
  const std::vector<cfd::Scalar>& speeds_;
  std::size_t d_;
  int n_;
  double second_;  ///< dt / h^2
  double first_;   ///< dt / (2 h)
  std::size_t length_ = 0;
  struct Kept {
    std::array<cfd::Lanes, matrices> e;
    std::array<cfd::Lanes, matrices> f;
  };
  std::vector<Kept> kept_;
};

}  // namespace roundtrip::npb::sp
