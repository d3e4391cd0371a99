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

/// Collective over `comm`: no rank leaves before the last has arrived. A dissemination barrier of
/// empty messages, the same for every MPI library; the skew after MPI_Barrier differs by library.
void synchronise(MPI_Comm comm);

/// Collective over `comm`, blocking: elementwise maximum over the ranks, on every rank.
void maximum_over_ranks(MPI_Comm comm, std::vector<double>& values);

/// Collective over `comm`: seconds of each timed call of the collective `operation` on the slowest
/// rank, the same on every rank. All ranks synchronise before each call, and no other message is
/// sent until the last call is over (Hoefler and others, "Accurately measuring collective
/// operations at massive scale", 2008). Each rank times its call by its own clock, so clocks need
/// not agree; the result includes the skew with which ranks leave the synchronisation.
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

  /// Times of the slowest rank in each repetition, or their sum.
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
  /// One call of the operation.
  virtual void call() = 0;

 private:
  MPI_Comm comm_;
};

}  // namespace roundtrip
