#include "ring/ring.hpp"

int main(int argc, char** argv) {
  roundtrip::ring::Ring workload("ring", roundtrip::ring::mpi_variants());
  return roundtrip::run_main(argc, argv, workload);
}
