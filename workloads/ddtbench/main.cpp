#include "ddtbench/ddtbench.hpp"

int main(int argc, char** argv) {
  roundtrip::ddtbench::DdtBench workload;
  return roundtrip::run_main(argc, argv, workload);
}
