// Prints half of a round trip [s] of 1 byte and of 4 MiB between the first rank and the last. With
// the argument deadlock or abort it then goes wrong in that way.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static char data[4194304];

static double half_round_trip(int rank, int last, int bytes) {
  double start = 0;
  const int rounds = 10;
  for (int round = -1; round < rounds; ++round) {  // the first is not counted: ranks set out apart
    if (round == 0) start = MPI_Wtime();
    if (rank == 0) {
      MPI_Send(data, bytes, MPI_CHAR, last, 0, MPI_COMM_WORLD);
      MPI_Recv(data, bytes, MPI_CHAR, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == last) {
      MPI_Recv(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - start) / (2 * rounds);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double small = half_round_trip(rank, size - 1, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const double large = half_round_trip(rank, size - 1, (int)sizeof data);
  if (rank == 0) printf("%.17g %.17g\n", small, large);
  if (argc > 1 && strcmp(argv[1], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 5);
  if (argc > 1) MPI_Recv(data, 1, MPI_CHAR, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
