#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/precision.hpp"
#include "core/survey.hpp"
#include "core/workload.hpp"
#include "ring/transport.hpp"

namespace roundtrip::ring {

/// One token of growing size round a ring of all ranks, by several transports.
class Ring final : public Workload {
 public:
  /// `variants`: choices of --transports, all by default.
  Ring(std::string name, std::vector<Variant> variants);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] int fewest_ranks() const override { return 2; }
  void declare(CLI::App& app) override;
  void check_flags() override;
  void run(Launch& launch) override;

 private:
  struct Skipped {
    std::string variant;
    std::string reason;
  };
  [[nodiscard]] std::vector<Variant> chosen(const Topology& topology);
  [[nodiscard]] std::vector<std::int64_t> sizes() const;
  [[nodiscard]] SurveyPlan plan(const Topology& topology, double budget_s) const;
  void record(Launch& launch, const Topology& topology, const SurveyPlan& plan,
              const SurveyResult& result) const;
  void print(const Arms& arms, const SurveyPlan& plan, const SurveyResult& result) const;

  std::string name_;
  std::vector<Variant> variants_;
  std::vector<std::string> names_;
  std::vector<Skipped> skipped_;
  std::vector<int> pretended_;
  std::string interface_;
  std::int64_t start_ = 10;
  std::int64_t end_ = 16'777'216;
  std::int64_t heap_ = 0;
  Precision precision_;
  int processors_ = 0;
};

}  // namespace roundtrip::ring
