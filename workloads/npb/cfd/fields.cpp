#include "npb/cfd/fields.hpp"

#include <algorithm>

#include "npb/cfd/initial.hpp"

namespace roundtrip::npb::cfd {

Fields::Fields(MultiPartition& partition, double dt, const Work& work)
    : partition_(partition), dt_(dt), work_(work) {
  for (const Cell& cell : partition.cells()) cells_.emplace_back(cell);
}

void Fields::reset() {
  for (CellFields& c : cells_) {
    set_initial(c.cell, c.u);
    for (Scalar& component : c.rhs) std::ranges::fill(component, 0);
  }
}

void Fields::update_rhs() {
  std::vector<Vector*> us;
  for (CellFields& c : cells_) us.push_back(&c.u);
  partition_.fill_ghosts(us);
  for (CellFields& c : cells_) {
    derive(c.cell, c.u, c.derived);
    residual(c.cell, c.u, c.derived, c.forcing, dt_, c.rhs);
    Comm::work(work_.residual * c.cell.inner_points());
  }
}

State Fields::add_change() {
  State squares{};
  for (CellFields& c : cells_) {
    const int begin = c.cell.inner_begin(0);
    const int count = c.cell.inner_end(0) - begin;
    for (std::size_t m = 0; m < equations; ++m) {
      for (int k = c.cell.inner_begin(2); k < c.cell.inner_end(2); ++k) {
        for (int j = c.cell.inner_begin(1); j < c.cell.inner_end(1); ++j) {
          double* __restrict to = c.u[m].data() + c.cell.at(begin, j, k);
          const double* __restrict change = c.rhs[m].data() + c.cell.at(begin, j, k);
          double sum = 0;
#pragma omp simd reduction(+ : sum)
          for (int i = 0; i < count; ++i) {
            to[i] += change[i];
            sum += change[i] * change[i];
          }
          squares[m] += sum;
        }
      }
    }
    Comm::work(work_.change * c.cell.inner_points());
  }
  return squares;
}

Norms Fields::norms() {
  update_rhs();
  Norms sums{};
  for (CellFields& c : cells_) {
    const State residual = sum_of_squares(c.cell, c.rhs);
    const State error = sum_of_squared_errors(c.cell, c.u);
    for (std::size_t m = 0; m < equations; ++m) {
      sums.residual[m] += residual[m] / (dt_ * dt_);
      sums.error[m] += error[m];
    }
  }
  partition_.comm().sum(sums.residual);
  partition_.comm().sum(sums.error);
  const int n = partition_.cells()[0].n();
  return {root_mean(sums.residual, n), root_mean(sums.error, n)};
}

double Fields::bytes(int n, int side) {
  constexpr double numbers = 3 * 5 + 5;
  const double edge = static_cast<double>(n) / side + 2 * ghosts;
  return sizeof(double) * numbers * side * edge * edge * edge;
}

}  // namespace roundtrip::npb::cfd
