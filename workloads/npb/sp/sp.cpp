#include "npb/sp/sp.hpp"

#include <cmath>

#include "npb/cfd/time_steps.hpp"
#include "npb/common/numbers.hpp"
#include "npb/common/ranks.hpp"
#include "npb/sp/eigenvectors.hpp"
#include "npb/sp/penta_scheme.hpp"
#include "npb/sp/published.hpp"

namespace roundtrip::npb::sp {
namespace {

/// Shares of the CPU time of a step, measured: class W on 4 ranks, the split of the lines into x, y
/// and z on one rank; g++ 12.
constexpr cfd::Work shares{.residual = 0.169,
                           .eliminate = {0.144, 0.127, 0.191},
                           .substitute = {0.078, 0.069, 0.102},
                           .change = 0.030,
                           .between = {0.040, 0.011, 0.011, 0.028}};

static_assert(cfd::add_up(shares));

/// Operations of a step by NPB's formula.
double operations(double n) {
  return 881.174 * std::pow(n, 3) - 4683.91 * std::pow(n, 2) + 11484.5 * n - 19272.4;
}

class Sp final : public Benchmark {
 public:
  explicit Sp(char problem_class) : class_(problem_class), parameters_(parameters(problem_class)) {}

  [[nodiscard]] Problem problem() const override {
    return {.size = grid_size(parameters_.n, parameters_.n, parameters_.n),
            .iterations = parameters_.steps,
            .operations = parameters_.steps * operations(parameters_.n)};
  }

  /// The fields, the speed of sound and, on several ranks, the elimination factors of all points.
  [[nodiscard]] double bytes(int ranks) const override {
    const int side = static_cast<int>(std::sqrt(ranks));
    const double edge = static_cast<double>(parameters_.n) / side + 2 * cfd::ghosts;
    const double factors = ranks == 1 ? 0.0 : 6 * std::pow(parameters_.n, 3) / ranks;
    constexpr double number = sizeof(double);
    return cfd::Fields::bytes(parameters_.n, side) + number * (side * std::pow(edge, 3) + factors);
  }

  Outcome run(Comm& comm, TimedSection& section) override;

 private:
  char class_;
  Parameters parameters_;
};

Outcome Sp::run(Comm& comm, TimedSection& section) {
  cfd::MultiPartition partition(comm, parameters_.n);
  const cfd::Work work = cfd::share_out(operations(parameters_.n), parameters_.n, shares);
  cfd::Fields fields(partition, parameters_.dt, work);
  std::vector<cfd::Scalar> speeds;
  for (const cfd::Cell& cell : partition.cells()) speeds.push_back(cell.scalar(0));
  cfd::LineSolver<PentaScheme> lines(partition, work);
  PentaScheme in_x(fields, speeds, 0);
  PentaScheme in_y(fields, speeds, 1);
  PentaScheme in_z(fields, speeds, 2);
  double points = 0;
  for (const cfd::Cell& cell : partition.cells()) points += cell.inner_points();
  const auto step = [&] {
    fields.update_rhs();
    for (std::size_t c = 0; c < speeds.size(); ++c) {
      speed_of_sound(fields.cells()[c], speeds[c]);
      to_characteristics_of_x(fields.cells()[c], speeds[c]);
    }
    Comm::work(work.between[0] * points);
    lines.solve(0, in_x);
    for (cfd::CellFields& cell : fields.cells()) from_x_to_y(cell);
    Comm::work(work.between[1] * points);
    lines.solve(1, in_y);
    for (cfd::CellFields& cell : fields.cells()) from_y_to_z(cell);
    Comm::work(work.between[2] * points);
    lines.solve(2, in_z);
    for (std::size_t c = 0; c < speeds.size(); ++c) {
      from_characteristics_of_z(fields.cells()[c], speeds[c]);
    }
    Comm::work(work.between[3] * points);
    return fields.add_change();
  };
  const auto& [n, steps, dt, norms] = parameters_;
  return cfd::run_time_steps({class_, n, steps, dt, norms}, fields, step, comm, section);
}

}  // namespace

Entry entry() {
  constexpr int fewest_points = 3;
  return {"SP",
          [](char problem_class) {
            return perfect_square(parameters(problem_class).n / fewest_points);
          },
          [](char problem_class) { return std::make_unique<Sp>(problem_class); }, problem_classes,
          histories()};
}

}  // namespace roundtrip::npb::sp
