#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npb/common/comm.hpp"
#include "npb/common/fastest.hpp"
#include "npb/common/history.hpp"
#include "npb/common/timed_section.hpp"

namespace roundtrip::npb {

/// Problem classes of NPB, one letter each, smallest first.
inline constexpr const char* problem_classes = "SWABCD";

/// Properties of a benchmark and its class in NPB's result block.
struct Problem {
  std::string size;       ///< as printed: `1400`, `12x  12x  12`
  int iterations = 0;     ///< as printed; 0 for EP
  double operations = 0;  ///< in the timed section, by NPB's formula
  std::string operation_type = "floating point";
};

/// The results of a run.
struct Outcome {
  bool verified = false;        ///< by the specification; on every rank
  std::vector<double> history;  ///< at the root: each iteration's values, see History
};

/// One benchmark of one class. A new object for each run.
class Benchmark {
 public:
  Benchmark() = default;
  virtual ~Benchmark() = default;
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  [[nodiscard]] virtual Problem problem() const = 0;

  /// Bytes of the arrays of one rank out of `ranks`.
  [[nodiscard]] virtual double bytes(int ranks) const = 0;

  /// Collective: set-up, untimed iteration, timed section, verification. The root prints NPB's
  /// output before the result block.
  virtual Outcome run(Comm& comm, TimedSection& section) = 0;

  /// After run(): the choices made by measurement before the timed section.
  [[nodiscard]] virtual std::vector<Choice> choices() const { return {}; }
};

/// The legal numbers of ranks of a benchmark.
struct RankRule {
  std::string text;  ///< for messages: `a power of two`
  std::function<bool(int)> legal;
};

/// An entry of the list of benchmarks.
struct Entry {
  std::string name;  ///< CG, MG, ...
  std::function<RankRule(char problem_class)> ranks;
  std::function<std::unique_ptr<Benchmark>(char problem_class)> make;
  std::string classes = problem_classes;  ///< its classes
  Histories histories = {};
};

/// All benchmarks, in alphabetical order.
std::vector<Entry> all_benchmarks();

}  // namespace roundtrip::npb
