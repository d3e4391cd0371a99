#include "npb/npb.hpp"

int main(int argc, char** argv) {
  roundtrip::npb::Npb workload(roundtrip::npb::all_benchmarks());
  return roundtrip::run_main(argc, argv, workload);
}
