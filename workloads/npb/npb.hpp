#pragma once

#include <string>
#include <vector>

#include "core/workload.hpp"
#include "npb/common/benchmark.hpp"

namespace roundtrip::npb {

/// The NAS Parallel Benchmarks (RNR-94-007, NAS-95-020), one benchmark in each launch.
class Npb final : public Workload {
 public:
  /// `benchmarks`: the values of --benchmark.
  explicit Npb(std::vector<Entry> benchmarks);

  [[nodiscard]] std::string name() const override { return "npb"; }
  [[nodiscard]] std::string description() const override;
  void declare(CLI::App& app) override;
  void run(Launch& launch) override;

 private:
  [[nodiscard]] const Entry& chosen() const;

  std::vector<Entry> benchmarks_;
  std::string benchmark_;
  std::string class_ = "S";
  std::string verification_ = "history";  ///< or `specification`
};

}  // namespace roundtrip::npb
