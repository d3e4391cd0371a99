#include "npb/cfd/time_steps.hpp"

#include <cstdio>

#include "npb/common/numbers.hpp"

namespace roundtrip::npb::cfd {

Outcome run_time_steps(const TimeSteps& run, Fields& fields, const std::function<State()>& step,
                       Comm& comm, TimedSection& section) {
  if (comm.root()) {
    std::printf(" Size: %s  (class %c)\n", grid_size(run.n, run.n, run.n).c_str(),
                run.problem_class);
    std::printf(" Iterations: %4d    dt: %11.7f\n", run.steps, run.dt);
    std::printf(" Total number of processes: %6d\n", comm.size());
  }
  fields.reset();
  step();
  fields.reset();

  std::vector<double> change;
  change.reserve(equations * static_cast<std::size_t>(run.steps));
  section.start();
  for (int i = 0; i < run.steps; ++i) {
    const State squares = step();
    change.insert(change.end(), squares.begin(), squares.end());
    section.lap();
  }
  section.stop();

  const Norms norms = fields.norms();
  const bool agree = compare(norms, run.published, run.problem_class, comm.root());
  const bool verified = comm.from_root(agree);
  if (comm.root()) std::printf(" Verification %s\n", verified ? "Successful" : "failed");
  comm.sum_at_root(change);
  return {verified, history(change, norms.residual, run.published, run.n)};
}

}  // namespace roundtrip::npb::cfd
