#include "npb/lu/lu.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "npb/cfd/initial.hpp"
#include "npb/common/numbers.hpp"
#include "npb/lu/published.hpp"
#include "npb/lu/surface.hpp"
#include "npb/lu/sweeps.hpp"

namespace roundtrip::npb::lu {
namespace {

/// Shares of the CPU time of a step, measured: class W on 4 ranks, g++ 12.
constexpr double share_of_lower = 0.27;
constexpr double share_of_upper = 0.30;
constexpr double share_of_change = 0.07;
constexpr double share_of_residual = 1 - share_of_lower - share_of_upper - share_of_change;

/// Operations of a step by NPB's formula.
double operations(double n) {
  return 1984.77 * std::pow(n, 3) - 10923.3 * std::pow(n, 2) + 27770.9 * n - 144010;
}

/// The solver and its fields.
class Ssor {
 public:
  Ssor(Comm& comm, const Parameters& parameters)
      : pencils_(comm, parameters.n),
        dt_(parameters.dt),
        work_(operations(parameters.n) / std::pow(parameters.n - 2, 3)),
        sweeps_(pencils_, dt_, share_of_lower * work_, share_of_upper * work_),
        u_(cell().vector(1)),
        rhs_(cell().vector(0)),
        derived_(cell()),
        forcing_(cfd::make_forcing(cell(), u_, derived_)) {}

  [[nodiscard]] const cfd::Cell& cell() const { return pencils_.cell(); }
  [[nodiscard]] const cfd::Vector& u() const { return u_; }

  void reset() {
    cfd::set_initial(cell(), u_);
    for (cfd::Scalar& component : rhs_) std::ranges::fill(component, 0);
    update_rhs();
  }

  /// One time step. Returns this rank's sums of squares of the change of u, before scaling.
  cfd::State step() {
    const cfd::FlowFields flow(u_, derived_);
    sweeps_.lower(flow, rhs_);
    sweeps_.upper(flow, rhs_);
    const cfd::State squares = add_change();
    update_rhs();
    return squares;
  }

  /// This rank's sums of squares of the residual.
  [[nodiscard]] cfd::State squared_residual() const {
    cfd::State sums = cfd::sum_of_squares(cell(), rhs_);
    for (double& sum : sums) sum /= dt_ * dt_;
    return sums;
  }

 private:
  /// rhs = dt times the residual of u.
  void update_rhs() {
    pencils_.fill_ghosts(u_);
    cfd::derive(cell(), u_, derived_);
    cfd::residual(cell(), u_, derived_, forcing_, dt_, rhs_);
    Comm::work(share_of_residual * work_ * cell().inner_points());
  }

  cfd::State add_change() {
    cfd::State squares{};
    constexpr double w = Sweeps::over_relaxation;
    constexpr double scale = 1 / (w * (2 - w));
    for (std::size_t m = 0; m < cfd::equations; ++m) {
      for (int k = cell().inner_begin(2); k < cell().inner_end(2); ++k) {
        for (int j = cell().inner_begin(1); j < cell().inner_end(1); ++j) {
          double* __restrict to = u_[m].data() + cell().at(0, j, k);
          const double* __restrict change = rhs_[m].data() + cell().at(0, j, k);
          double sum = 0;
#pragma omp simd reduction(+ : sum)
          for (int i = cell().inner_begin(0); i < cell().inner_end(0); ++i) {
            to[i] += scale * change[i];
            sum += change[i] * change[i];
          }
          squares[m] += sum;
        }
      }
    }
    Comm::work(share_of_change * work_ * cell().inner_points());
    return squares;
  }

  Pencils pencils_;
  double dt_;
  double work_;  ///< operations of a step for each inner point
  Sweeps sweeps_;
  cfd::Vector u_;
  cfd::Vector rhs_;
  cfd::Derived derived_;
  cfd::Vector forcing_;
};

class Lu final : public Benchmark {
 public:
  explicit Lu(char problem_class) : class_(problem_class), parameters_(parameters(problem_class)) {}

  [[nodiscard]] Problem problem() const override {
    return {.size = grid_size(parameters_.n, parameters_.n, parameters_.n),
            .iterations = parameters_.steps,
            .operations = parameters_.steps * operations(parameters_.n)};
  }

  /// u, right-hand side, forcing, and the quantities derived from u.
  [[nodiscard]] double bytes(int ranks) const override {
    constexpr double numbers = 3 * 5 + 5;
    const auto [in_x, in_y] = rank_grid(ranks);
    const double n = parameters_.n;
    return sizeof(double) * numbers * (n / in_x + 4) * (n / in_y + 4) * (n + 4);
  }

  Outcome run(Comm& comm, TimedSection& section) override;

 private:
  char class_;
  Parameters parameters_;
};

Outcome Lu::run(Comm& comm, TimedSection& section) {
  const auto& [n, steps, dt, norms, surface] = parameters_;
  if (comm.root()) {
    std::printf(" Size: %s  (class %c)\n Iterations: %4d\n", problem().size.c_str(), class_, steps);
    std::printf(" Total number of processes: %6d\n", comm.size());
  }
  Ssor ssor(comm, parameters_);
  ssor.reset();
  ssor.step();
  ssor.reset();

  std::vector<double> change;
  change.reserve(cfd::equations * static_cast<std::size_t>(steps));
  section.start();
  cfd::Norms computed{};
  computed.residual = ssor.squared_residual();
  comm.sum(computed.residual);
  section.skip();
  for (int i = 0; i < steps; ++i) {
    const cfd::State squares = ssor.step();
    change.insert(change.end(), squares.begin(), squares.end());
    section.lap();
  }
  computed.residual = ssor.squared_residual();
  comm.sum(computed.residual);
  section.stop();

  computed.error = cfd::sum_of_squared_errors(ssor.cell(), ssor.u());
  comm.sum(computed.error);
  computed.residual = cfd::root_mean(computed.residual, n);
  computed.error = cfd::root_mean(computed.error, n);
  const double integral = comm.sum(surface_integral(ssor.cell(), ssor.u()));
  const bool norms_agree = cfd::compare(computed, norms, class_, comm.root());
  const bool integral_agrees = cfd::compare("surface integral", integral, surface, comm.root());
  const bool verified = comm.from_root(norms_agree && integral_agrees);
  if (comm.root()) std::printf(" Verification %s\n", verified ? "Successful" : "failed");
  comm.sum_at_root(change);
  return {verified, cfd::history(change, computed.residual, norms, n)};
}

/// The rule of NPB 3.4. The ghosts of the neighbours need only two points.
RankRule rank_rule(int n) {
  return {"a grid of ranks that leaves 3 points in x and y to each", [n](int ranks) {
            constexpr int fewest_points = 3;
            return ranks >= 1 && n / rank_grid(ranks)[1] >= fewest_points;
          }};
}

}  // namespace

Entry entry() {
  return {"LU", [](char problem_class) { return rank_rule(parameters(problem_class).n); },
          [](char problem_class) { return std::make_unique<Lu>(problem_class); }, problem_classes,
          histories()};
}

}  // namespace roundtrip::npb::lu
