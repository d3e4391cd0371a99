// Stands for a rank of a third-party program: prints the preload that it passes on.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* const preload = std::getenv("LD_PRELOAD");
  std::printf("passes on: %s\n", preload == nullptr ? "nothing" : preload);
  MPI_Finalize();
  return 0;
}
