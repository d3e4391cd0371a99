#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/arm.hpp"
#include "core/clock.hpp"

namespace roundtrip {

/// Collective over `comm`: nobody leaves before the last has come. By messages of no byte between
/// pairs of ranks (dissemination), the same for every MPI library; its own MPI_Barrier would make
/// libraries differ in how their ranks leave it.
void synchronise(MPI_Comm comm);

/// Collective over `comm`, blocking: the largest value of any rank at each place, on every rank.
void maximum_over_ranks(MPI_Comm comm, std::vector<double>& values);

/// Collective over `comm`: seconds of each timed call of the collective `operation`, that of the
/// slowest rank, the same on every rank. All ranks synchronise before each call, and no message
/// but theirs is sent until the last one is over (Hoefler and others, "Accurately measuring
/// collective operations at massive scale", 2008). A rank's own clock times its own call, so no
/// clocks need agree; that ranks leave the synchronisation some time apart is part of the result.
template <class Operation>
std::vector<double> time_collective(MPI_Comm comm, const Repetitions& repetitions,
                                    Operation operation) {
  for (std::int64_t i = 0; i < repetitions.warm; ++i) {
    synchronise(comm);
    operation();
  }
  std::vector<double> seconds(static_cast<std::size_t>(repetitions.timed));
  for (double& one : seconds) {
    synchronise(comm);
    const double start = now();
    operation();
    one = now() - start;
  }
  maximum_over_ranks(comm, seconds);
  return seconds;
}

/// An arm of a survey that is a collective operation.
class CollectiveArm : public Arm {
 public:
  explicit CollectiveArm(MPI_Comm comm) : comm_(comm) {}

  /// The sum over the repetitions, each as long as the slowest rank took.
  Timing time(const Repetitions& repetitions) override {
    auto seconds = time_collective(comm_, repetitions, [this] { call(); });
    if (repetitions.each) return {.seconds = std::move(seconds)};
    return {.seconds = {std::accumulate(seconds.begin(), seconds.end(), 0.0)}};
  }
  [[nodiscard]] TimingFacts facts() const override {
    return {.clock = "each rank", .synchronisation = "barrier", .over_ranks = "maximum"};
  }
  [[nodiscard]] bool times_each() const override { return true; }

 protected:
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

 private:
  /// The operation, once.
  virtual void call() = 0;

  MPI_Comm comm_;
};

}  // namespace roundtrip
