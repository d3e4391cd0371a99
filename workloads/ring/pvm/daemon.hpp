#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "ring/pvm/guarded.hpp"
#include "ring/topology.hpp"

namespace roundtrip::ring {

/// PVM daemons of this launch's own, one a node, and all ranks enrolled with theirs as tasks. One
/// at a time. Needs no remote shell: the ranks start the daemons of their nodes.
class PvmDaemon {
 public:
  /// Collective. On several nodes the daemons and the tasks use the topology's interface. Throws
  /// Failure(usage) on every rank if there is no daemon to start, or one does not.
  explicit PvmDaemon(const Topology& topology);
  /// Collective: no rank's daemon ends before all ranks have left theirs.
  ~PvmDaemon();
  PvmDaemon(const PvmDaemon&) = delete;
  PvmDaemon& operator=(const PvmDaemon&) = delete;

  /// PVM's name of a rank.
  [[nodiscard]] int task(int rank) const { return tasks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int nodes() const { return nodes_; }

 private:
  explicit PvmDaemon(MPI_Comm comm);
  void start(const Topology& topology);
  void enrol(const Topology& topology);

  MPI_Comm comm_;
  std::optional<GuardedDaemon> daemon_;  ///< on the lowest rank of each node
  int mine_ = -1;                        ///< PVM's name of this rank; negative: it is no task
  std::vector<int> tasks_;
  int nodes_ = 1;
};

}  // namespace roundtrip::ring
