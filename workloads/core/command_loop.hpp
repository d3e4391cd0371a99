#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/arm.hpp"

namespace roundtrip {

/// What one arm does in a round: a checked repetition, a batch, or both in this order.
struct Batch {
  std::size_t arm = 0;
  bool verify = false;
  std::int64_t warm = 0;   ///< repetitions that are not timed, before those that are
  std::int64_t timed = 0;  ///< 0: no batch
  bool each = false;       ///< time each repetition by itself
};

/// The same arms on every rank of a communicator, in step: rank 0 says in a small message what
/// comes next, all ranks do it, then they reduce what they found. Between the two no message is
/// sent but by the arms.
class CommandLoop {
 public:
  /// Collective. `arms` must outlive the loop, and be in the same order on every rank.
  CommandLoop(MPI_Comm comm, const Arms& arms);

  [[nodiscard]] bool leads() const { return rank_ == 0; }
  [[nodiscard]] const Arms& arms() const { return arms_; }

  /// Rank 0: what follows is for messages of `bytes` bytes, by these arms. Throws the Failure of
  /// any rank, on every rank.
  void prepare(const std::vector<std::size_t>& arms, std::int64_t bytes);

  /// Rank 0: does the batches in the order given, of each arm at most one. Returns for each batch
  /// seconds, the maximum over the ranks: one value for each timed repetition if it times `each`,
  /// else one for all of them together, or for the checked repetition if none is timed. Throws
  /// Failure(wrong_data) on every rank, with what the highest rank that received wrong data says:
  /// the data reached it first.
  std::vector<std::vector<double>> round(const std::vector<Batch>& batches);

  /// Rank 0: the other ranks may leave.
  void stop();

  /// Other ranks: do what rank 0 says until it says stop.
  void follow();

 private:
  using Command = std::vector<std::int64_t>;

  void tell(Command command);
  void prepare_here(const std::vector<std::size_t>& arms, std::int64_t bytes);
  std::vector<std::vector<double>> round_here(const std::vector<Batch>& batches);
  std::vector<double> batch_here(const Batch& batch);
  void reduce(std::vector<double>& seconds);
  void note(std::optional<std::string> fault);

  MPI_Comm comm_;
  const Arms& arms_;
  int rank_ = 0;
  std::size_t length_;  ///< of every command
  std::optional<std::string> fault_;
};

}  // namespace roundtrip
