#pragma once

#include "npb/cfd/jacobian.hpp"
#include "npb/lu/pencils.hpp"

namespace roundtrip::npb::lu {

/// The two triangular solutions of an SSOR step: (D + w L) D^-1 (D + w U) dU = rhs. L, D and U are
/// the parts of I - dt dR/dU for the neighbours below, the point itself and the neighbours above.
class Sweeps {
 public:
  static constexpr double over_relaxation = 1.2;  ///< w

  /// `lower_work`, `upper_work`: operations for each inner point.
  Sweeps(Pencils& pencils, double dt, double lower_work, double upper_work);

  /// Collective: v = (D + w L)^-1 v, a wavefront upwards.
  void lower(const cfd::FlowFields& flow, cfd::Vector& v);

  /// Collective: v = v - D^-1 w U v, a wavefront downwards.
  void upper(const cfd::FlowFields& flow, cfd::Vector& v);

 private:
  template <int step>
  void sweep(const cfd::FlowFields& flow, cfd::Vector& v, double work);
  template <int step>
  void sweep_line(const cfd::FlowFields& flow, cfd::Vector& v, int j, int k);
  template <int step>
  void gather(const cfd::FlowFields& flow, const cfd::Vector& v, std::ptrdiff_t at, int count);
  void prepare_diagonal(const cfd::FlowFields& flow, std::ptrdiff_t at, int count);
  [[nodiscard]] cfd::State solve_diagonal(const cfd::Flow& flow, const cfd::State& b,
                                          std::size_t i) const;

  Pencils& pencils_;
  double lower_work_;
  double upper_work_;
  double second_;                                  ///< w dt / h^2
  double first_;                                   ///< w dt / (2 h)
  double diagonal_;                                ///< of D, without viscosity
  std::array<double, cfd::equations> drag_{};      ///< viscous part of D's rows, times the density
  std::array<cfd::Scalar, cfd::equations> known_;  ///< of a line: contributions of y and z
  std::array<cfd::Scalar, cfd::equations> inverse_;  ///< of a line: 1 / D's diagonal
};

}  // namespace roundtrip::npb::lu
