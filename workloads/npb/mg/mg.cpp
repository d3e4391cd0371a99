#include "npb/mg/mg.hpp"

#include <cmath>
#include <cstdio>
#include <map>

#include "npb/common/numbers.hpp"
#include "npb/common/ranks.hpp"
#include "npb/mg/multigrid.hpp"

namespace roundtrip::npb::mg {
namespace {

constexpr Stencil small_smoother{-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
constexpr Stencil large_smoother{-3.0 / 17, 1.0 / 33, -1.0 / 61, 0};

struct Parameters {
  int n;
  int iterations;
  Stencil smoother;
  double norm;  ///< published
};

const std::map<char, Parameters> classes = {
    {'S', {32, 4, small_smoother, 0.5307707005734e-4}},
    {'W', {128, 4, small_smoother, 0.6467329375339e-5}},
    {'A', {256, 4, small_smoother, 0.2433365309069e-5}},
    {'B', {256, 20, large_smoother, 0.1800564401355e-5}},
    {'C', {512, 20, large_smoother, 0.5706732285740e-6}},
    {'D', {1024, 50, large_smoother, 0.1583275060440e-09}},
};

class Mg final : public Benchmark {
 public:
  explicit Mg(char problem_class) : class_(problem_class), parameters_(classes.at(problem_class)) {}

  [[nodiscard]] Problem problem() const override {
    const int n = parameters_.n;
    return {.size = grid_size(n, n, n),
            .iterations = parameters_.iterations,
            .operations = 58.0 * parameters_.iterations * std::pow(n, 3)};
  }

  /// u and r on all levels, v on the finest.
  [[nodiscard]] double bytes(int ranks) const override {
    const double points = std::pow(parameters_.n / std::cbrt(ranks) + 2, 3);
    return sizeof(double) * points * (2 * 8.0 / 7 + 1);
  }

  Outcome run(Comm& comm, TimedSection& section) override;

 private:
  char class_;
  Parameters parameters_;
};

Outcome Mg::run(Comm& comm, TimedSection& section) {
  const auto& [n, iterations, smoother, published] = parameters_;
  if (comm.root()) {
    std::printf(" Size: %s  (class %c)\n Iterations: %4d\n", problem().size.c_str(), class_,
                iterations);
    std::printf(" Total number of processes: %6d\n", comm.size());
  }
  Multigrid grids(comm, n, smoother, problem().operations, iterations);
  grids.reset();
  grids.update_residual();
  grids.cycle();
  grids.update_residual();
  grids.reset();

  Outcome outcome;
  outcome.history.reserve(static_cast<std::size_t>(iterations));
  section.start();
  grids.update_residual();
  section.skip();
  for (int i = 0; i < iterations; ++i) {
    grids.cycle();
    outcome.history.push_back(grids.update_residual());
    section.lap();
  }
  const double norm = grids.residual_norm();
  section.stop();

  constexpr double tolerance = 1e-8;
  const double error = relative_error(norm, published);
  const bool verified = comm.from_root(error <= tolerance);
  outcome.verified = verified;
  comm.sum_at_root(outcome.history);
  for (double& value : outcome.history) value = std::sqrt(value / std::pow(n, 3));
  if (comm.root()) {
    std::printf("\n Benchmark completed \n VERIFICATION %s \n", verified ? "SUCCESSFUL" : "FAILED");
    std::printf(" L2 Norm is  %s\n Error is    %s\n", fortran_e(norm, 13).c_str(),
                fortran_e(error, 13).c_str());
  }
  return outcome;
}

}  // namespace

Entry entry() {
  constexpr int most = 256;
  return {"MG", [](char) { return power_of_two(most); },
          [](char problem_class) { return std::make_unique<Mg>(problem_class); }, problem_classes,
          histories()};
}

}  // namespace roundtrip::npb::mg
