#pragma once

namespace CLI {
class App;
}

namespace roundtrip {

/// Flag `--precision` of the workloads that repeat until a median is precise.
struct Precision {
  double percent = 2;  ///< target half-width of the median's 95 % interval, % of the median

  void declare(CLI::App& app);
  /// Throws Failure(usage) unless it is positive.
  void check() const;
  [[nodiscard]] double relative() const { return percent / 100; }
};

}  // namespace roundtrip
