#pragma once

#include <mpi.h>

namespace roundtrip {

/// A communicator of some ranks of another, in the same order.
class Subset {
 public:
  /// Collective over `comm`. `member`: whether this rank belongs to the subset.
  Subset(MPI_Comm comm, bool member) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_split(comm, member ? 0 : MPI_UNDEFINED, rank, &comm_);
  }
  ~Subset() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Subset(const Subset&) = delete;
  Subset& operator=(const Subset&) = delete;

  [[nodiscard]] bool member() const { return comm_ != MPI_COMM_NULL; }
  /// MPI_COMM_NULL if this rank is not a member.
  [[nodiscard]] MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace roundtrip
