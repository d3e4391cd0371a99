#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/interleaver.hpp"
#include "core/median.hpp"
#include "core/point.hpp"
#include "core/workload.hpp"
#include "netpipe/pair.hpp"
#include "netpipe/planner.hpp"
#include "netpipe/schedule.hpp"

namespace roundtrip::netpipe {

/// What to measure.
struct SurveyPlan {
  std::vector<SizePoint> points;
  std::vector<std::string> variants;
  std::string case_name;
  Mode mode = Mode::pingpong;
  double precision = 0.02;  ///< relative half-width of the median's interval to reach
};

/// The transmitter's part: all variants at all sizes, interleaved in random order, each repeated
/// until its median is known well enough or the time is spent. A sample is the mean over a batch:
/// half an exchange for ping-pong, a whole exchange otherwise.
class Survey {
 public:
  Survey(SurveyPlan plan, Pair& pair, Launch& launch);

  /// Measures, and records every sample in the launch. Throws Failure(wrong_data).
  void run();

  [[nodiscard]] const std::vector<PointResult>& results() const { return results_; }
  /// Batches not recorded: the checked exchanges and calibrations that warm a point up.
  [[nodiscard]] std::int64_t discarded() const { return discarded_; }

 private:
  /// An arm at the size being measured.
  struct Arm {
    std::size_t index = 0;
    double exchange_s = 0;
    std::vector<double>* samples = nullptr;
    std::optional<Estimate> estimate = std::nullopt;
    bool converged = false;
  };

  void probe();
  bool measure_size(std::size_t point);
  [[nodiscard]] Allotment allotment(std::size_t point) const;
  [[nodiscard]] double time_left() const;
  void leave_out(std::size_t arm, std::int64_t size, Status status);
  std::vector<Arm> admitted(std::size_t point, const Allotment& allotment);
  void warm_up(std::vector<Arm>& arms, std::int64_t size);
  std::vector<double> discarded_round(std::vector<Arm>& arms, bool verify);
  void repeat(std::vector<Arm>& arms, double until);
  void timed_round(std::vector<Arm*> riders);
  void judge(std::vector<Arm>& arms) const;
  void learn(const std::vector<Arm>& arms, std::int64_t size, double elapsed_s);
  [[nodiscard]] double messages() const;

  SurveyPlan plan_;
  Pair& pair_;
  Launch& launch_;
  BatchPlan batches_;
  StoppingRule rule_;
  Interleaver interleaver_;
  std::vector<CostModel> models_;
  std::vector<bool> left_out_;
  std::vector<PointResult> results_;
  std::int64_t discarded_ = 0;
  double overrun_ = 1;  ///< seconds a size takes for each second its batches were to take
};

}  // namespace roundtrip::netpipe
