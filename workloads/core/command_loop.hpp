#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/arm.hpp"

namespace roundtrip {

/// Work of one arm in a round: a verified repetition, a batch, or both in this order.
struct Batch {
  std::size_t arm = 0;
  bool verify = false;
  std::int64_t warm = 0;   ///< untimed repetitions, before the timed ones
  std::int64_t timed = 0;  ///< 0: no batch
  bool each = false;       ///< time each repetition by itself
};

/// Runs the same arms in step on every rank of a communicator: rank 0 broadcasts a small command,
/// all ranks execute it, then they reduce the results. In between, only the arms send messages.
class CommandLoop {
 public:
  /// Collective. `arms` must outlive the loop, and be in the same order on every rank.
  CommandLoop(MPI_Comm comm, const Arms& arms);

  [[nodiscard]] bool leads() const { return rank_ == 0; }
  [[nodiscard]] const Arms& arms() const { return arms_; }

  /// Rank 0: prepares these arms for messages of `bytes` bytes. Throws the Failure of any rank, on
  /// every rank.
  void prepare(const std::vector<std::size_t>& arms, std::int64_t bytes);

  /// Rank 0: runs the batches in the given order, at most one per arm. Returns the seconds of each
  /// batch, maximum over the ranks: one value per timed repetition if `each` is set, else their
  /// total, or the time of the verified repetition if none is timed. Throws Failure(wrong_data) on
  /// every rank, with the message of the highest rank that received wrong data: the data reached
  /// it first.
  std::vector<std::vector<double>> round(const std::vector<Batch>& batches);

  /// Rank 0: ends follow() on the other ranks.
  void stop();

  /// Other ranks: execute the commands of rank 0 until it stops.
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
  std::size_t length_;  ///< of every command, in fields
  std::optional<std::string> fault_;
};

}  // namespace roundtrip
