#include "npb/cg/solver.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace roundtrip::npb::cg {
namespace {

/// z += alpha p, r -= alpha q; returns r . r.
double advance(double alpha, const std::vector<double>& p, const std::vector<double>& q,
               std::vector<double>& z, std::vector<double>& r) {
  const double* __restrict from_p = p.data();
  const double* __restrict from_q = q.data();
  double* __restrict to_z = z.data();
  double* __restrict to_r = r.data();
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < r.size(); ++i) {
    to_z[i] += alpha * from_p[i];
    to_r[i] -= alpha * from_q[i];
    sum += to_r[i] * to_r[i];
  }
  return sum;
}

}  // namespace

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  const double* __restrict of_a = a.data();
  const double* __restrict of_b = b.data();
  const std::size_t size = a.size();
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < size; ++i) sum += of_a[i] * of_b[i];
  return sum;
}

Solver::Solver(Comm& comm, const Layout& layout, SparseBlock matrix, double product_work,
               std::span<const Product> ways)
    : comm_(comm),
      layout_(layout),
      matrix_(std::move(matrix)),
      product_work_(product_work),
      row_partners_(layout.row_partners()),
      r_(static_cast<std::size_t>(layout.column_end() - layout.column_begin())),
      p_(r_.size()),
      q_(r_.size()),
      by_rows_(static_cast<std::size_t>(matrix_.rows())),
      received_(layout.kept_rows().count),
      choice_(choose(ways)),
      product_(ways[choice_.chosen]) {}

Choice Solver::choose(std::span<const Product> ways) {
  std::vector<Way> trials;
  for (const Product& way : ways) {
    trials.push_back({way.name, [&] { way.multiply(matrix_, p_.data(), by_rows_.data()); }});
  }
  return fastest(comm_, "matrix product", trials);
}

void Solver::multiply(const std::vector<double>& operand, std::vector<double>& product) {
  const bool alone = comm_.size() == 1;
  product_.multiply(matrix_, operand.data(), alone ? product.data() : by_rows_.data());
  Comm::work(product_work_);
  if (alone) return;
  const auto rows = [this](Range range) {
    return std::span(by_rows_).subspan(range.begin, range.count);
  };
  const std::span<double> kept = rows(layout_.kept_rows());
  std::span<double> out = rows(layout_.sent_rows());
  for (const int partner : row_partners_) {
    comm_.exchange(out, partner, received_, partner);
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] += received_[i];
    out = kept;
  }
  const int partner = layout_.transpose_partner();
  comm_.exchange(kept, partner, product, partner);
}

double Solver::solve(const std::vector<double>& x, std::vector<double>& z) {
  // All ranks of a grid column have, and compute, the same part of a vector.
  const auto elements = static_cast<double>(x.size());
  constexpr double per_dot = 2;
  constexpr double per_addition = 2;
  std::ranges::fill(z, 0);
  r_ = x;
  p_ = r_;
  std::array<double, 1> rho{dot(r_, r_)};
  sum_over_row(rho);
  for (int step = 0; step < steps; ++step) {
    multiply(p_, q_);
    std::array<double, 1> p_a_p{dot(p_, q_)};
    Comm::work(per_dot * elements);
    sum_over_row(p_a_p);
    const double rho_before = rho[0];
    rho[0] = advance(rho_before / p_a_p[0], p_, q_, z, r_);
    Comm::work((per_advance - per_dot - per_addition) * elements);
    sum_over_row(rho);
    const double beta = rho[0] / rho_before;
    for (std::size_t i = 0; i < p_.size(); ++i) p_[i] = r_[i] + beta * p_[i];
    Comm::work(per_addition * elements);
  }
  multiply(z, r_);
  std::array<double, 1> residual{0};
  for (std::size_t i = 0; i < x.size(); ++i) residual[0] += (x[i] - r_[i]) * (x[i] - r_[i]);
  Comm::work(per_residual * elements);
  sum_over_row(residual);
  return std::sqrt(residual[0]);
}

}  // namespace roundtrip::npb::cg
