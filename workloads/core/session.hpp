#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "core/agreement.hpp"
#include "core/failure.hpp"

namespace roundtrip {

/// Placement of a rank: host, CPUs of its affinity mask, leaf switch of the host ("" if unknown).
struct Place {
  int rank = 0;
  std::string host;
  std::vector<int> cpus;
  std::string leaf_switch;
};

/// MPI from MPI_Init to MPI_Finalize, and facts of MPI_COMM_WORLD. One per process.
class Session {
 public:
  Session(int* argc, char*** argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] MPI_Comm world() const { return MPI_COMM_WORLD; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool root() const { return rank_ == 0; }

  /// Time of the MPI clock when MPI_Init returned, seconds.
  [[nodiscard]] double start() const { return start_; }

  /// Placement after MPI_Init: one entry per rank at the root, empty elsewhere.
  [[nodiscard]] const std::vector<Place>& placement() const { return placement_; }
  /// Collective: the current placement; a workload may change the affinity of its ranks.
  [[nodiscard]] std::vector<Place> find_placement() const;

  /// Distinct hosts in order of their first rank; at the root, empty elsewhere.
  [[nodiscard]] std::vector<std::string> hosts() const;

  /// Collective: the string of every rank, in rank order, at the root; empty elsewhere.
  [[nodiscard]] std::vector<std::string> gather(const std::string& mine) const;

  /// Collective agreement of all ranks; see agree().
  void agree(const std::function<void()>& part) const { roundtrip::agree(world(), part); }

 private:
  int rank_ = 0;
  int size_ = 0;
  double start_ = 0;
  std::vector<Place> placement_;
};

/// Aborts all ranks with this status. Waits first: on an abort a launcher may drop the last output
/// of a rank (Hydra 4.0).
void end_all(Exit status);

/// First line of MPI_Get_library_version.
std::string mpi_library();

/// Device of the MPI library, if its version text names one (MPICH: "ch4:ucx"); else "".
std::string mpi_device();

/// Version of the MPI standard that the library implements, e.g. "3.1".
std::string mpi_standard();

}  // namespace roundtrip
