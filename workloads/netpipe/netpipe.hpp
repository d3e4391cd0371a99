#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/precision.hpp"
#include "core/workload.hpp"
#include "netpipe/arm.hpp"
#include "netpipe/schedule.hpp"

namespace roundtrip::netpipe {

/// NetPIPE between the first and the last rank, by several variants of sending the same bytes.
class NetPipe final : public Workload {
 public:
  /// `variants`: choices of --variants, all by default.
  explicit NetPipe(std::vector<Variant> variants);

  [[nodiscard]] std::string name() const override { return "netpipe"; }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] int fewest_ranks() const override { return 2; }
  void declare(CLI::App& app) override;
  void check_flags() override;
  void run(Launch& launch) override;

 private:
  void measure(Launch& launch, const Arms& arms, MPI_Comm pair) const;

  std::vector<Variant> variants_;
  std::vector<std::string> names_;
  std::vector<std::int64_t> offsets_ = {0, 0};
  ScheduleRange range_;
  Mode mode_ = Mode::pingpong;
  Layout layout_ = Layout::same;
  Precision precision_;
  std::string mode_name_ = "pingpong";
  std::string layout_name_ = "same";
  std::string exact_variant_;  ///< empty: not the exact mode
};

/// The five variants of the Boost.MPI study.
std::vector<Variant> study_variants();

}  // namespace roundtrip::netpipe
