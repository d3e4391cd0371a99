#include "npb/common/result_block.hpp"

#include <array>
#include <cstdio>

#include "core/build_info.hpp"

namespace roundtrip::npb {
namespace {

std::string line(const char* label, const std::string& value) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), " %-16s=%25s\n", label, value.c_str());
  return text.data();
}

std::string fixed(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

}  // namespace

std::string headline(const std::string& benchmark) {
  return "\n\n NAS Parallel Benchmarks 3.4 -- " + benchmark + " Benchmark\n\n";
}

std::string result_block(const Result& result) {
  const std::string full_stop = result.benchmark == "IS" ? "" : ".";
  return "\n\n " + result.benchmark + " Benchmark Completed" + full_stop + '\n' +
         line("Class", {result.problem_class}) + line("Size", result.problem.size) +
         line("Iterations", std::to_string(result.problem.iterations)) +
         line("Time in seconds", fixed(result.seconds)) +
         line("Total processes", std::to_string(result.ranks)) +
         line("Active processes", std::to_string(result.ranks)) +
         line("Mop/s total", fixed(result.mops())) +
         line("Mop/s/process", fixed(result.mops() / result.ranks)) +
         line("Operation type", result.problem.operation_type) +
         line("Verification", result.verified ? "SUCCESSFUL" : "UNSUCCESSFUL") +
         line("Version", "3.4.1") +
         line("Implementation", std::string("roundtrip ") + build_info::version) +
         line("Compiler",
              std::string(build_info::compiler_id) + ' ' + build_info::compiler_version) +
         '\n';
}

}  // namespace roundtrip::npb
