#include "npb/bt/bt.hpp"

#include <cmath>

#include "npb/bt/block_scheme.hpp"
#include "npb/bt/published.hpp"
#include "npb/cfd/time_steps.hpp"
#include "npb/common/numbers.hpp"
#include "npb/common/ranks.hpp"

namespace roundtrip::npb::bt {
namespace {

/// Shares of the CPU time of a step, measured: class W on 4 ranks, g++ 12.
constexpr cfd::Work shares{.residual = 0.060,
                           .eliminate = {0.239, 0.237, 0.329},
                           .substitute = {0.041, 0.041, 0.041},
                           .change = 0.012,
                           .between = {}};

static_assert(cfd::add_up(shares));

/// Operations of a step by NPB's formula.
double operations(double n) {
  return 3478.8 * std::pow(n, 3) - 17655.7 * std::pow(n, 2) + 28023.7 * n;
}

class Bt final : public Benchmark {
 public:
  explicit Bt(char problem_class) : class_(problem_class), parameters_(parameters(problem_class)) {}

  [[nodiscard]] Problem problem() const override {
    return {.size = grid_size(parameters_.n, parameters_.n, parameters_.n),
            .iterations = parameters_.steps,
            .operations = parameters_.steps * operations(parameters_.n)};
  }

  /// The fields and, on several ranks, the elimination factors of all points.
  [[nodiscard]] double bytes(int ranks) const override {
    const double factors =
        ranks == 1 ? 0 : sizeof(double) * 25 * std::pow(parameters_.n, 3) / ranks;
    return cfd::Fields::bytes(parameters_.n, static_cast<int>(std::sqrt(ranks))) + factors;
  }

  Outcome run(Comm& comm, TimedSection& section) override {
    cfd::MultiPartition partition(comm, parameters_.n);
    const cfd::Work work = cfd::share_out(operations(parameters_.n), parameters_.n, shares);
    cfd::Fields fields(partition, parameters_.dt, work);
    cfd::LineSolver<BlockScheme<0>> along_x(partition, work);
    cfd::LineSolver<BlockScheme<1>> along_y(partition, work);
    cfd::LineSolver<BlockScheme<2>> along_z(partition, work);
    BlockScheme<0> in_x(fields);
    BlockScheme<1> in_y(fields);
    BlockScheme<2> in_z(fields);
    const auto step = [&] {
      fields.update_rhs();
      along_x.solve(0, in_x);
      along_y.solve(1, in_y);
      along_z.solve(2, in_z);
      return fields.add_change();
    };
    const auto& [n, steps, dt, norms] = parameters_;
    return cfd::run_time_steps({class_, n, steps, dt, norms}, fields, step, comm, section);
  }

 private:
  char class_;
  Parameters parameters_;
};

}  // namespace

Entry entry() {
  constexpr int fewest_points = 3;
  return {"BT",
          [](char problem_class) {
            return perfect_square(parameters(problem_class).n / fewest_points);
          },
          [](char problem_class) { return std::make_unique<Bt>(problem_class); }, problem_classes,
          histories()};
}

}  // namespace roundtrip::npb::bt
