#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/simulation.hpp"
#include "npb/common/traffic.hpp"

namespace roundtrip::npb {

/// Communication of a benchmark. Times and counts every message of a timed section.
/// A message of a rank to itself is not counted.
class Comm {
 public:
  explicit Comm(MPI_Comm comm);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool root() const { return rank_ == 0; }

  /// Sends `out` to one rank and receives `in` from another (or the same), blocking. The lengths
  /// may differ.
  void exchange(std::span<const double> out, int to, std::span<double> in, int from, int tag = 0);

  /// Nonblocking exchanges, which can overlap. finish_all() waits for all of them.
  void start_receive(std::span<double> in, int from, int tag);
  void start_send(std::span<const double> out, int to, int tag);
  void finish_all();

  /// One stage of a pipeline, blocking: send() returns when the buffer may be reused.
  void receive(std::span<double> in, int from, int tag = 0);
  void send(std::span<const double> out, int to, int tag = 0);

  /// Nonblocking send. Call finish_sends() before reusing the buffer.
  void post_send(std::span<const double> out, int to, int tag = 0);
  void finish_sends();

  /// Block r of `out` goes to rank r; blocks are of equal length.
  void all_to_all(std::span<const double> out, std::span<double> in);
  void all_to_all(std::span<const int> out, std::span<int> in);

  /// Sends out_counts[r] ints to rank r.
  void all_to_all(std::span<const int> out, std::span<const int> out_counts, std::span<int> in,
                  std::span<const int> in_counts);

  /// Sums and maximum over all ranks, on all ranks.
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

  /// Simulation: adds `operations`, by NPB's formula, to the work of this rank.
  static void work(double operations) { roundtrip::work(operations); }

  /// Traffic of this rank since the last reset.
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
