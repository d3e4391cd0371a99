#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/session.hpp"
#include "ring/region/wait.hpp"

namespace roundtrip::ring {

/// The ranks of a ring, and which of them share memory. Construction is collective.
class Topology {
 public:
  /// `pretended`: node number of each rank, to separate ranks of one machine as if they shared no
  /// memory; empty: the real nodes. `processors`: number of processors to which the ranks of a node
  /// are confined; 0: not confined. `interface`: network interface of sockets between nodes; empty:
  /// unknown. Throws Failure(usage) on every rank.
  Topology(const Session& session, const std::vector<int>& pretended, int processors,
           std::string interface);
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  [[nodiscard]] const Session& session() const { return session_; }
  /// Of all ranks, for the transports' messages.
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  /// Of this node's ranks.
  [[nodiscard]] MPI_Comm node() const { return node_; }

  [[nodiscard]] int rank() const { return session_.rank(); }
  [[nodiscard]] int size() const { return session_.size(); }
  [[nodiscard]] int next() const { return (rank() + 1) % size(); }
  [[nodiscard]] int previous() const { return (rank() + size() - 1) % size(); }

  [[nodiscard]] int member() const { return member_of_[static_cast<std::size_t>(rank())]; }
  [[nodiscard]] int members() const { return members_; }
  /// Index of a rank within this node; empty for ranks of other nodes.
  [[nodiscard]] std::optional<int> member(int rank) const;
  [[nodiscard]] bool one_node() const { return members_ == size(); }
  [[nodiscard]] bool pretended() const { return pretended_; }
  /// Ranks on each node, in order of nodes: `2`, `1+1`, `2+1`; of more than 16 nodes: `31x4+1x2`.
  [[nodiscard]] std::string shape() const;
  /// Passes of a lap between ranks of one node.
  [[nodiscard]] int shared_passes() const;
  /// Processors that this node's ranks may use, together.
  [[nodiscard]] int processors() const { return processors_; }
  /// Whether some node has more ranks than processors for them.
  [[nodiscard]] bool crowded() const { return crowded_; }
  /// Name of the network interface that sockets between nodes use; empty if unknown.
  [[nodiscard]] const std::string& interface() const { return interface_; }
  /// Spins if each rank of this node has its own processor, else yields at once.
  [[nodiscard]] const WaitPolicy& wait() const { return wait_; }

 private:
  void confine(int processors);

  const Session& session_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm node_ = MPI_COMM_NULL;
  std::vector<int> node_of_;    ///< lowest rank of each rank's node
  std::vector<int> member_of_;  ///< index of each rank in its node
  int members_ = 1;
  int processors_ = 1;
  bool crowded_ = false;
  bool pretended_ = false;
  std::string interface_;
  WaitPolicy wait_;
};

}  // namespace roundtrip::ring
