#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "ring/pvm/guarded.hpp"
#include "ring/topology.hpp"

namespace roundtrip::ring {

/// Private PVM daemons of this launch, one per node, with all ranks enrolled as tasks. One object
/// at a time. Needs no remote shell: the ranks start the daemons of their nodes.
class PvmDaemon {
 public:
  /// Collective. On several nodes the daemons and the tasks use the topology's interface. Throws
  /// Failure(usage) on every rank if a daemon is missing or does not start.
  explicit PvmDaemon(const Topology& topology);
  /// Collective: a daemon ends only after all ranks have left PVM.
  ~PvmDaemon();
  PvmDaemon(const PvmDaemon&) = delete;
  PvmDaemon& operator=(const PvmDaemon&) = delete;

  /// PVM task identifier of a rank.
  [[nodiscard]] int task(int rank) const { return tasks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int nodes() const { return nodes_; }

 private:
  explicit PvmDaemon(MPI_Comm comm);
  void start(const Topology& topology);
  void enrol(const Topology& topology);

  MPI_Comm comm_;
  std::optional<GuardedDaemon> daemon_;  ///< on the lowest rank of each node
  int mine_ = -1;                        ///< PVM task identifier; negative: not enrolled
  std::vector<int> tasks_;
  int nodes_ = 1;
};

}  // namespace roundtrip::ring
