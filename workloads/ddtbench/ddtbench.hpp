#pragma once

#include <string>
#include <vector>

#include "core/precision.hpp"
#include "core/session.hpp"
#include "core/workload.hpp"
#include "ddtbench/survey.hpp"

namespace roundtrip::ddtbench {

/// Derived datatypes against packing by hand, for the access patterns of 16 micro-applications.
class DdtBench final : public Workload {
 public:
  DdtBench();

  [[nodiscard]] std::string name() const override { return "ddtbench"; }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] int fewest_ranks() const override { return 2; }
  void declare(CLI::App& app) override;
  void check_flags() override;
  void run(Launch& launch) override;

 private:
  [[nodiscard]] Plan plan(const Launch& launch) const;
  void survey_all(Launch& launch, const Catalogue& catalogue) const;
  /// On rank 0: adds `results`, those of each case, to the record and the original format.
  void write_results(Launch& launch, const Catalogue& catalogue, const Plan& plan,
                     const std::vector<std::vector<ArmResult>>& results) const;
  static void print_pack_speed(const Session& session, const Catalogue& catalogue);

  std::vector<std::string> apps_;
  std::vector<std::string> methods_;
  std::vector<std::string> buffers_ = {"original", "same"};
  std::string sizes_ = "all";
  std::string format_file_;
  Precision precision_;
  bool list_ = false;
  bool pack_speed_ = false;
};

}  // namespace roundtrip::ddtbench
