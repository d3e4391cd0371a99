// Counts the communication calls of Fortran programs. Compilers give Fortran functions lower-case
// names with one underscore, and pass all arguments by address.
#include "message_counter.hpp"

using namespace roundtrip::npb;

namespace {

using Int = const MPI_Fint*;

MPI_Datatype type_of(Int handle) {
  return MPI_Type_f2c(*handle);
}

MPI_Comm comm_of(Int handle) {
  return MPI_Comm_f2c(*handle);
}

}  // namespace

extern "C" {

void pmpi_send_(void* data, Int count, Int type, Int to, Int tag, Int comm, MPI_Fint* error);
void pmpi_isend_(void* data, Int count, Int type, Int to, Int tag, Int comm, MPI_Fint* request,
                 MPI_Fint* error);
void pmpi_allreduce_(void* out, void* in, Int count, Int type, Int operation, Int comm,
                     MPI_Fint* error);
void pmpi_reduce_(void* out, void* in, Int count, Int type, Int operation, Int root, Int comm,
                  MPI_Fint* error);
void pmpi_bcast_(void* data, Int count, Int type, Int root, Int comm, MPI_Fint* error);
void pmpi_alltoall_(void* out, Int out_count, Int out_type, void* in, Int in_count, Int in_type,
                    Int comm, MPI_Fint* error);
void pmpi_barrier_(Int comm, MPI_Fint* error);
double pmpi_wtime_();
void pmpi_finalize_(MPI_Fint* error);

void mpi_send_(void* data, Int count, Int type, Int to, Int tag, Int comm, MPI_Fint* error) {
  count_message(*count, type_of(type), *to, comm_of(comm));
  pmpi_send_(data, count, type, to, tag, comm, error);
}

void mpi_isend_(void* data, Int count, Int type, Int to, Int tag, Int comm, MPI_Fint* request,
                MPI_Fint* error) {
  count_message(*count, type_of(type), *to, comm_of(comm));
  pmpi_isend_(data, count, type, to, tag, comm, request, error);
}

void mpi_allreduce_(void* out, void* in, Int count, Int type, Int operation, Int comm,
                    MPI_Fint* error) {
  count_collective(Kind::all_reduce, *count, type_of(type));
  pmpi_allreduce_(out, in, count, type, operation, comm, error);
}

void mpi_reduce_(void* out, void* in, Int count, Int type, Int operation, Int root, Int comm,
                 MPI_Fint* error) {
  count_collective(Kind::reduce, *count, type_of(type));
  pmpi_reduce_(out, in, count, type, operation, root, comm, error);
}

void mpi_bcast_(void* data, Int count, Int type, Int root, Int comm, MPI_Fint* error) {
  count_collective(Kind::broadcast, *count, type_of(type));
  pmpi_bcast_(data, count, type, root, comm, error);
}

void mpi_alltoall_(void* out, Int out_count, Int out_type, void* in, Int in_count, Int in_type,
                   Int comm, MPI_Fint* error) {
  count_collective(Kind::all_to_all, *out_count, type_of(out_type));
  pmpi_alltoall_(out, out_count, out_type, in, in_count, in_type, comm, error);
}

void mpi_barrier_(Int comm, MPI_Fint* error) {
  count_collective(Kind::barrier, 0, MPI_BYTE);
  pmpi_barrier_(comm, error);
}

double mpi_wtime_() {
  count_clock();
  return pmpi_wtime_();
}

void mpi_finalize_(MPI_Fint* error) {
  write_counts();
  pmpi_finalize_(error);
}

}  // extern "C"
