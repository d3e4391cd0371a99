#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/simulation.hpp"
#include "npb/common/traffic.hpp"

namespace roundtrip::npb {

/// The ranks of a benchmark. Every message goes through it and is timed and counted.
/// A message of a rank to itself is a copy and is not counted.
class Comm {
 public:
  explicit Comm(MPI_Comm comm);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool root() const { return rank_ == 0; }

  /// Sends `out` to one rank while receiving `in` from another (or the same). Returns when both are
  /// done. Blocks of different length are allowed.
  void exchange(std::span<const double> out, int to, std::span<double> in, int from, int tag = 0);

  /// The same in two steps, so that several exchanges can overlap.
  void start_receive(std::span<double> in, int from, int tag);
  void start_send(std::span<const double> out, int to, int tag);
  void finish_all();

  /// One stage of a pipeline. receive() returns when the data is here, send() when the buffer may
  /// be used again.
  void receive(std::span<double> in, int from, int tag = 0);
  void send(std::span<const double> out, int to, int tag = 0);

  /// Sends without waiting; call finish_sends() before using the buffer again.
  void post_send(std::span<const double> out, int to, int tag = 0);
  void finish_sends();

  /// Block r of `out` goes to rank r; blocks are of equal length.
  void all_to_all(std::span<const double> out, std::span<double> in);
  void all_to_all(std::span<const int> out, std::span<int> in);

  /// Sends out_counts[r] ints to rank r.
  void all_to_all(std::span<const int> out, std::span<const int> out_counts, std::span<int> in,
                  std::span<const int> in_counts);

  /// Sums over all ranks, on all ranks.
  void sum(std::span<double> values);
  void sum(std::span<int> values);
  double sum(double value);
  double max(double value);

  /// Sums over all ranks, at the root.
  void sum_at_root(std::span<double> values);
  void sum_at_root(std::span<std::uint64_t> values);

  /// The root's value, on all ranks; not counted (used outside of timed sections).
  [[nodiscard]] bool from_root(bool value) const;
  void barrier() const;

  /// Simulation: this rank has just done so many of the operations that NPB's formula counts.
  static void work(double operations) { roundtrip::work(operations); }

  /// What was sent since the last reset.
  [[nodiscard]] const TrafficByPattern& traffic() const { return traffic_; }
  [[nodiscard]] const MessageSizes& sizes() const { return sizes_; }
  void reset_traffic();

  [[nodiscard]] MPI_Comm handle() const { return comm_; }

 private:
  class Timed;
  void count(Pattern pattern, std::int64_t bytes, std::int64_t messages = 1);

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MPI_Request> exchanges_;
  std::vector<MPI_Request> sends_;
  TrafficByPattern traffic_;
  MessageSizes sizes_;
};

}  // namespace roundtrip::npb
