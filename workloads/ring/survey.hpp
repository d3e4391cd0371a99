#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/interleaver.hpp"
#include "core/median.hpp"
#include "core/point.hpp"
#include "core/workload.hpp"
#include "ring/crew.hpp"

namespace roundtrip::ring {

/// What to measure.
struct SurveyPlan {
  std::string case_name;
  std::vector<std::string> names;  ///< of the crew's transports
  std::vector<std::int64_t> sizes;
  int passes = 1;                 ///< in a lap
  double batch_laps = 1;          ///< at least so many in a batch, if that takes no more than 50 ms
  std::int64_t closing_laps = 0;  ///< untimed, after each batch
  double precision = 0.02;        ///< relative half-width of the median's interval to reach
};

/// Rank 0's part: every size by every transport, interleaved in random order. All sizes get their
/// fewest samples first; then the survey comes back to each, times the laps of each transport one
/// by one for a moment (what a single lap can take), and goes on until each median is known well
/// enough or the size's share of the time is spent. A sample is the time of a batch of laps over
/// its passes.
class Survey {
 public:
  Survey(SurveyPlan plan, Crew& crew, Launch& launch);

  /// Measures, and records every sample in the launch.
  void run();

  [[nodiscard]] const std::vector<PointResult>& results() const { return results_; }
  /// Batches that were not recorded.
  [[nodiscard]] std::int64_t discarded() const { return discarded_; }

 private:
  /// A transport at the size being measured.
  struct Arm {
    std::size_t index = 0;
    double lap_s = 0;
    std::vector<double>* samples = nullptr;
    std::optional<Estimate> estimate{};
    bool converged = false;
  };

  /// Predicts the time of a lap at the next size by the last two sizes.
  struct Cost {
    void observe(std::int64_t at, double seconds);
    [[nodiscard]] double lap_s(std::int64_t at) const;
    std::int64_t bytes = 0;
    double known_s = 0;
    double byte_s = 0;
  };

  struct AtSize {
    std::int64_t size = 0;
    std::vector<Arm> arms;
  };

  void cover(std::int64_t size, double share_s);
  void refine(AtSize& at, double share_s);
  void conclude();
  [[nodiscard]] double time_left() const;
  bool admit(std::size_t arm, std::int64_t size, double share_s);
  void warm_up(Arm& arm, std::int64_t size);
  void time_laps(const Arm& arm, std::int64_t size, double share_s);
  void round(std::vector<Arm>& arms);
  void judge(std::vector<Arm>& arms) const;
  [[nodiscard]] std::int64_t laps(double lap_s) const;
  [[nodiscard]] Laps batch_of(double lap_s) const;
  std::vector<double>& series(const Arm& arm, std::int64_t size, const char* phase, Metric metric);

  SurveyPlan plan_;
  Crew& crew_;
  Launch& launch_;
  StoppingRule rule_;
  Interleaver interleaver_;
  double batch_s_;
  std::vector<Cost> costs_;  ///< of each transport
  std::vector<bool> left_out_;
  std::vector<AtSize> at_;
  std::vector<PointResult> results_;
  std::int64_t discarded_ = 0;
};

}  // namespace roundtrip::ring
