#pragma once

#include <mpi.h>

namespace roundtrip {

/// A communicator of some of the ranks of another, in their order; the others have none.
class Subset {
 public:
  /// Collective over `comm`: `member` says whether this rank is one of them.
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
  /// MPI_COMM_NULL where this rank is none of them.
  [[nodiscard]] MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace roundtrip
