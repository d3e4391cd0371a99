#include "netpipe/netpipe.hpp"

int main(int argc, char** argv) {
  roundtrip::netpipe::NetPipe workload(roundtrip::netpipe::study_variants());
  return roundtrip::run_main(argc, argv, workload);
}
