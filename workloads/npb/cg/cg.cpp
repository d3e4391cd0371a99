#include "npb/cg/cg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "npb/cg/solver.hpp"
#include "npb/common/numbers.hpp"
#include "npb/common/ranks.hpp"

namespace roundtrip::npb::cg {
namespace {

struct Parameters {
  int n;
  int nonzeros;
  int iterations;
  double shift;
  double zeta;  ///< published
};

const std::map<char, Parameters> classes = {
    {'S', {1400, 7, 15, 10, 8.5971775078648}},     {'W', {7000, 8, 15, 12, 10.362595087124}},
    {'A', {14000, 11, 15, 20, 17.130235054029}},   {'B', {75000, 13, 75, 60, 22.712745482631}},
    {'C', {150000, 15, 75, 110, 28.973605592845}}, {'D', {1500000, 21, 100, 500, 52.514532105794}},
};

/// Operations of improve() for each element of x, without the solution.
constexpr double per_improvement = 6;

class Cg final : public Benchmark {
 public:
  explicit Cg(char problem_class) : class_(problem_class), parameters_(classes.at(problem_class)) {}

  [[nodiscard]] Problem problem() const override {
    const auto& [n, nonzeros, iterations, shift, zeta] = parameters_;
    const double per_row = per_product(nonzeros) + per_residual;
    const double per_step = per_product(nonzeros) + per_advance;
    return {.size = std::to_string(n),
            .iterations = iterations,
            .operations = iterations * n * (per_row + steps * per_step + per_improvement)};
  }

  /// The block's terms before merging, the sparse vectors x_i, and dense vectors.
  [[nodiscard]] double bytes(int ranks) const override {
    constexpr double vectors = 8;
    const double n = parameters_.n;
    const double terms = n * (parameters_.nonzeros + 1) * (parameters_.nonzeros + 1);
    const double generators = n * (parameters_.nonzeros + 1);
    return (sizeof(double) + sizeof(int)) * (terms / ranks + generators) +
           vectors * sizeof(double) * n / std::sqrt(ranks);
  }

  Outcome run(Comm& comm, TimedSection& section) override;

  [[nodiscard]] std::vector<Choice> choices() const override { return {product_}; }

 private:
  void print_header(int ranks) const;

  char class_;
  Parameters parameters_;
  Choice product_;
};

/// The results of an outer iteration.
struct Estimate {
  double residual = 0;
  double zeta = 0;
};

/// A step of the inverse power method: solves A z = x, then x = z / ||z||.
Estimate improve(Solver& solver, double shift, std::vector<double>& x, std::vector<double>& z) {
  Estimate estimate;
  estimate.residual = solver.solve(x, z);
  std::array<double, 2> products{dot(x, z), dot(z, z)};
  solver.sum_over_row(products);
  estimate.zeta = shift + 1 / products[0];
  const double scale = 1 / std::sqrt(products[1]);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * z[i];
  Comm::work(per_improvement * static_cast<double>(x.size()));
  return estimate;
}

void Cg::print_header(int ranks) const {
  std::printf(" Size: %10d  (class %c)\n Iterations: %5d\n", parameters_.n, class_,
              parameters_.iterations);
  std::printf(" Number of nonzeroes per row: %8d\n Eigenvalue shift: %9.3f\n", parameters_.nonzeros,
              parameters_.shift);
  std::printf(" Total number of processes: %6d\n", ranks);
}

Outcome Cg::run(Comm& comm, TimedSection& section) {
  const auto& [n, nonzeros, iterations, shift, published] = parameters_;
  if (comm.root()) print_header(comm.size());
  const Layout layout(n, comm.rank(), comm.size());
  Solver solver(comm, layout, make_matrix(layout, n, nonzeros, shift),
                per_product(nonzeros) * n / comm.size());
  product_ = solver.choice();
  if (comm.root()) {
    std::printf(" Matrix product: %s\n", product_.ways[product_.chosen].c_str());
  }
  std::vector<double> x(static_cast<std::size_t>(layout.column_end() - layout.column_begin()), 1);
  std::vector<double> z(x.size());
  improve(solver, shift, x, z);
  std::ranges::fill(x, 1);

  std::vector<Estimate> estimates;
  estimates.reserve(static_cast<std::size_t>(iterations));
  section.start();
  for (int i = 0; i < iterations; ++i) {
    estimates.push_back(improve(solver, shift, x, z));
    section.lap();
  }
  section.stop();

  constexpr double tolerance = 1e-10;
  const double zeta = estimates.back().zeta;
  const bool verified = comm.from_root(relative_error(zeta, published) <= tolerance);
  if (comm.root()) {
    std::printf("\n   iteration           ||r||                 zeta\n");
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      std::printf("    %5zu       %s%20.13f\n", i + 1, fortran_e(estimates[i].residual, 14).c_str(),
                  estimates[i].zeta);
    }
    std::printf(" Benchmark completed \n VERIFICATION %s \n", verified ? "SUCCESSFUL" : "FAILED");
    std::printf(" Zeta is     %s\n Error is    %s\n", fortran_e(zeta, 13).c_str(),
                fortran_e(relative_error(zeta, published), 13).c_str());
  }
  Outcome outcome{verified, {}};
  for (const Estimate& estimate : estimates) {
    outcome.history.insert(outcome.history.end(), {estimate.zeta, estimate.residual});
  }
  return outcome;
}

}  // namespace

Entry entry() {
  constexpr int most = 256;
  return {"CG", [](char) { return power_of_two(most); },
          [](char problem_class) { return std::make_unique<Cg>(problem_class); }, problem_classes,
          histories()};
}

}  // namespace roundtrip::npb::cg
