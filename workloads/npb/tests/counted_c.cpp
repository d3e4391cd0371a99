// Counts the communication calls of C and C++ programs.
#include "message_counter.hpp"

using namespace roundtrip::npb;

extern "C" {

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count_message(count, type, to, comm);
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  count_message(count, type, to, comm);
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void* in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status* status) {
  count_message(out_count, out_type, to, comm);
  return PMPI_Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
                       comm, status);
}

int MPI_Allreduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm comm) {
  count_collective(Kind::all_reduce, count, type);
  return PMPI_Allreduce(out, in, count, type, operation, comm);
}

int MPI_Reduce(const void* out, void* in, int count, MPI_Datatype type, MPI_Op operation, int root,
               MPI_Comm comm) {
  count_collective(Kind::reduce, count, type);
  return PMPI_Reduce(out, in, count, type, operation, root, comm);
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  count_collective(Kind::broadcast, count, type);
  return PMPI_Bcast(data, count, type, root, comm);
}

int MPI_Alltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm) {
  count_collective(Kind::all_to_all, out_count, out_type);
  return PMPI_Alltoall(out, out_count, out_type, in, in_count, in_type, comm);
}

int MPI_Alltoallv(const void* out, const int* out_counts, const int* out_starts,
                  MPI_Datatype out_type, void* in, const int* in_counts, const int* in_starts,
                  MPI_Datatype in_type, MPI_Comm comm) {
  count_all_to_all_v(out_counts, out_type, comm);
  return PMPI_Alltoallv(out, out_counts, out_starts, out_type, in, in_counts, in_starts, in_type,
                        comm);
}

int MPI_Gather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
               MPI_Datatype in_type, int root, MPI_Comm comm) {
  count_collective(Kind::gather, out_count, out_type);
  return PMPI_Gather(out, out_count, out_type, in, in_count, in_type, root, comm);
}

int MPI_Allgather(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                  MPI_Datatype in_type, MPI_Comm comm) {
  count_collective(Kind::gather, out_count, out_type);
  return PMPI_Allgather(out, out_count, out_type, in, in_count, in_type, comm);
}

int MPI_Barrier(MPI_Comm comm) {
  count_collective(Kind::barrier, 0, MPI_BYTE);
  return PMPI_Barrier(comm);
}

double MPI_Wtime() {
  count_clock();
  return PMPI_Wtime();
}

int MPI_Pcontrol(const int level, ...) {
  count_mark(level);
  return MPI_SUCCESS;
}

int MPI_Finalize() {
  write_counts();
  return PMPI_Finalize();
}

}  // extern "C"
