#pragma once

#include <vector>

#include "npb/cfd/multipartition.hpp"
#include "npb/cfd/residual.hpp"
#include "npb/cfd/verification.hpp"
#include "npb/cfd/work.hpp"

namespace roundtrip::npb::cfd {

/// The fields of one cell.
struct CellFields {
  const Cell& cell;
  Vector u;
  Vector rhs;
  Derived derived;
  Vector forcing;

  explicit CellFields(const Cell& of)
      : cell(of),
        u(of.vector(1)),
        rhs(of.vector(0)),
        derived(of),
        forcing(make_forcing(of, u, derived)) {}
};

/// The fields of all cells of a rank.
class Fields {
 public:
  Fields(MultiPartition& partition, double dt, const Work& work);

  [[nodiscard]] std::vector<CellFields>& cells() { return cells_; }
  [[nodiscard]] double dt() const { return dt_; }

  /// Resets u to the initial state and rhs to 0.
  void reset();

  /// Collective: rhs = dt times the residual of u.
  void update_rhs();

  /// u += rhs. Returns the sums of squares of this rank's rhs.
  State add_change();

  /// Collective: norms of the residual and of the error of u.
  [[nodiscard]] Norms norms();

  /// Bytes of all fields of one rank out of side^2, on an n^3 grid.
  static double bytes(int n, int side);

 private:
  MultiPartition& partition_;
  double dt_;
  Work work_;
  std::vector<CellFields> cells_;
};

}  // namespace roundtrip::npb::cfd
