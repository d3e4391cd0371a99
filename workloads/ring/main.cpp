#include <optional>
#include <string>
#include <utility>

#include "ring/ring.hpp"

namespace {

/// A transport of ring-pvm, listed so that a launch reports its absence.
roundtrip::ring::Variant missing(const char* name) {
  return {.name = name,
          .obstacle = [](const roundtrip::ring::Topology&) -> std::optional<std::string> {
            return "needs PVM, which this program was built without: ring-pvm has it";
          },
          .make = nullptr};
}

}  // namespace

int main(int argc, char** argv) {
  auto variants = roundtrip::ring::mpi_variants();
  for (const char* name : {"pvm", "pvm-xdr"}) variants.push_back(missing(name));
  roundtrip::ring::Ring workload("ring", std::move(variants));
  return roundtrip::run_main(argc, argv, workload);
}
