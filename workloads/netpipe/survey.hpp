#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/interleaver.hpp"
#include "core/median.hpp"
#include "core/point.hpp"
#include "core/workload.hpp"
#include "netpipe/order.hpp"
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

/// The transmitter's part: all variants at all sizes, interleaved in random order. A coarse grid
/// over the whole range comes first, then the sizes between, each with the fewest samples; what
/// time is left refines all of them, until each median is known well enough. So a launch that is
/// cut short is coarse, not half. A sample is the mean over a batch: half an exchange for
/// ping-pong, a whole exchange otherwise.
class Survey {
 public:
  Survey(SurveyPlan plan, Pair& pair, Launch& launch);

  /// Measures, and records every sample in the launch. Throws Failure(wrong_data).
  void run();

  [[nodiscard]] const std::vector<PointResult>& results() const { return results_; }
  /// Batches not recorded: the checked exchanges and calibrations that warm a point up.
  [[nodiscard]] std::int64_t discarded() const { return discarded_; }

 private:
  /// A variant at one size.
  struct Arm {
    std::size_t index = 0;
    double exchange_s = 0;
    std::vector<double>* samples = nullptr;
    std::optional<Estimate> estimate = std::nullopt;
    bool converged = false;
    std::size_t look = 0;  ///< number of samples at which to look at the estimate
  };

  /// How far along the sizes a variant can be measured.
  struct Reach {
    std::int64_t measured = 0;                 ///< its largest size that has samples
    std::optional<std::int64_t> bounded = {};  ///< its smallest size that would take too long
  };

  void probe();
  void cover(const std::vector<std::size_t>& points);
  void refine(std::vector<std::size_t> points, std::size_t enough);
  void conclude();
  void visit(std::size_t point, double until, std::size_t enough);
  [[nodiscard]] double dearest_point() const;
  [[nodiscard]] double time_left() const;
  [[nodiscard]] bool goes_on(std::size_t arm, std::int64_t size) const;
  void admit(std::size_t point, double dearest_s);
  void warm_up(std::vector<Arm>& arms, std::int64_t size);
  std::vector<double> discarded_round(std::vector<Arm>& arms, bool verify);
  void repeat(std::vector<Arm>& arms, double until, std::size_t enough);
  static bool done(const std::vector<Arm>& arms, std::size_t enough);
  std::vector<Arm*> riders(std::vector<Arm>& arms) const;
  void timed_round(std::vector<Arm*> riders);
  void look_at(Arm& arm) const;
  [[nodiscard]] double messages() const;

  SurveyPlan plan_;
  Pair& pair_;
  Launch& launch_;
  BatchPlan batches_;
  StoppingRule rule_;
  Interleaver interleaver_;
  std::vector<CostModel> models_;
  std::vector<Reach> reach_;            ///< of each variant
  std::vector<std::vector<Arm>> arms_;  ///< of each size; none: not measured
  std::vector<PointResult> results_;
  std::int64_t discarded_ = 0;
  double overrun_ = 1;  ///< seconds a size takes for each second its batches were to take
};

}  // namespace roundtrip::netpipe
