#pragma once

#include <array>
#include <vector>

#include "npb/cg/layout.hpp"
#include "npb/cg/matrix.hpp"
#include "npb/cg/products.hpp"
#include "npb/common/comm.hpp"
#include "npb/common/fastest.hpp"

namespace roundtrip::npb::cg {

/// Steps of the conjugate-gradient method.
inline constexpr int steps = 25;

/// NPB's operations of a product for each row of the matrix, by the formula's number of elements;
/// of a step without its product, and of the residual of the solution, for each element of a
/// vector. On 4 ranks, products are 93 % of the operations of class A, and 91 % of its CPU time,
/// measured.
constexpr double per_product(int nonzeros) {
  return 2.0 * nonzeros * (nonzeros + 1);
}
inline constexpr double per_advance = 10;
inline constexpr double per_residual = 6;

/// 25 steps of the conjugate-gradient method for A z = x, on vectors laid out by columns.
class Solver {
 public:
  /// Collective. Measures the `ways` to multiply on the matrix and uses the fastest.
  /// `product_work`: operations of a product on this rank.
  Solver(Comm& comm, const Layout& layout, SparseBlock matrix, double product_work,
         std::span<const Product> ways = products());

  /// The choice of the matrix product.
  [[nodiscard]] const Choice& choice() const { return choice_; }

  /// Collective. Solves for z; returns ||x - A z||.
  double solve(const std::vector<double>& x, std::vector<double>& z);

  /// Sums values over the grid row: a dot product of vectors by columns.
  template <std::size_t N>
  void sum_over_row(std::array<double, N>& values);

 private:
  Choice choose(std::span<const Product> ways);
  void multiply(const std::vector<double>& operand, std::vector<double>& product);

  Comm& comm_;
  Layout layout_;
  SparseBlock matrix_;
  double product_work_;
  std::vector<int> row_partners_;
  std::vector<double> r_;
  std::vector<double> p_;
  std::vector<double> q_;
  std::vector<double> by_rows_;
  std::vector<double> received_;
  Choice choice_;
  Product product_;
};

template <std::size_t N>
void Solver::sum_over_row(std::array<double, N>& values) {
  std::array<double, N> other{};
  for (const int partner : row_partners_) {
    comm_.exchange(values, partner, other, partner);
    for (std::size_t i = 0; i < N; ++i) values[i] += other[i];
  }
}

/// Dot product of this rank's parts.
double dot(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace roundtrip::npb::cg
