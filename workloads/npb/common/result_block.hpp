#pragma once

#include <string>
#include <vector>

#include "npb/common/benchmark.hpp"

namespace roundtrip::npb {

/// Memory of one rank, in bytes.
struct Memory {
  double expected = 0;  ///< arrays, by Benchmark::bytes()
  double most = 0;      ///< growth of the process, maximum over the ranks
};

/// Results of a run, for the result block and the record.
struct Result {
  std::string benchmark;  ///< CG, MG, ...
  char problem_class = 'S';
  Problem problem;
  double seconds = 0;
  int ranks = 1;
  bool verified = false;                ///< by the specification
  std::string compared;                 ///< comparison of the history with the recorded one
  std::vector<std::string> quantities;  ///< of a recorded history
  std::vector<double> history;          ///< iterations x quantities
  std::vector<Choice> choices;          ///< made by measurement before the timed section
  Memory memory;

  [[nodiscard]] double mops() const {
    constexpr double mega = 1e6;
    return seconds > 0 ? problem.operations / seconds / mega : 0;
  }
};

/// First lines of a benchmark's output: ` NAS Parallel Benchmarks 3.4 -- CG Benchmark`.
std::string headline(const std::string& benchmark);

/// The result block, line for line as NPB 3.4.1 prints it (labels, widths, number of decimals).
std::string result_block(const Result& result);

}  // namespace roundtrip::npb
