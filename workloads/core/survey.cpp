#include "core/survey.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include "core/clock.hpp"
#include "core/command_loop.hpp"
#include "core/launch.hpp"
#include "core/reach.hpp"
#include "core/rounds.hpp"
#include "core/survey_order.hpp"

namespace roundtrip {
namespace {

/// Rank 0's part of a survey.
class Leader {
 public:
  Leader(const SurveyPlan& plan, CommandLoop& loop, Launch& launch)
      : plan_(plan),
        loop_(loop),
        launch_(launch),
        batches_(plan.pace, launch.clock),
        rounds_(loop, batches_, plan.sampling, launch.flags.seed),
        reach_(batches_, rounds_.models()) {
    for (const std::int64_t bytes : plan.sizes) points_.push_back({.bytes = bytes});
  }

  SurveyResult run() {
    if (points_.size() == 1) {
      stay(points_.front());
      return conclude({0});
    }
    probe();
    const SurveyOrder order = survey_order(plan_.sizes, plan_.may_be_coarse);
    cover(order.coarse);
    refine(order.coarse, fewest_samples);
    cover(order.fine);
    std::vector<std::size_t> all = order.coarse;
    all.insert(all.end(), order.fine.begin(), order.fine.end());
    refine(std::move(all), plan_.sampling.most_samples);
    return conclude(order.coarse);
  }

 private:
  /// Estimates the cost of each arm at a medium size before time is divided among them. Three
  /// times, so that an interruption does not make a fast arm seem slow.
  void probe() {
    constexpr std::int64_t probe_bytes = 65'536;
    std::vector<ArmAtSize> arms;
    for (std::size_t i = 0; i < loop_.arms().size(); ++i) arms.push_back({.index = i});
    for (int look = 0; look < 3; ++look) {
      rounds_.warm_up(arms, std::clamp(probe_bytes, plan_.sizes.front(), plan_.sizes.back()));
    }
  }

  /// Seconds; a part of the budget is reserved for writing the files.
  [[nodiscard]] double time_left() const {
    constexpr double closing_share = 0.02;
    if (plan_.deadline_s) return *plan_.deadline_s - now();
    return launch_.time_left() - closing_share * launch_.flags.budget_s;
  }

  /// Takes the minimum number of samples at each of these sizes, in equal shares of the time left.
  void cover(const std::vector<std::size_t>& places) {
    for (std::size_t i = 0; i < places.size() && time_left() + plan_.grace_s > 0; ++i) {
      Point& point = points_[places[i]];
      const double until = now() + time_left() / static_cast<double>(places.size() - i);
      // Points that cost at most half of an equal share of the budget are not bounded.
      const auto all = static_cast<double>(points_.size() * loop_.arms().size());
      const double fair_s = launch_.flags.budget_s / 2 / all;
      reach_.admit(point, reach_.dearest_s(points_, time_left() / overrun_, fair_s),
                   launch_.flags.budget_s + plan_.grace_s);
      if (point.arms.empty()) continue;
      open_samples(point);
      visit(point, until, fewest_samples);
    }
  }

  /// The whole survey of a single size.
  void stay(Point& point) {
    for (std::size_t i = 0; i < loop_.arms().size(); ++i) point.arms.push_back({.index = i});
    open_samples(point);
    visit(point, now() + time_left(), plan_.sampling.most_samples);
  }

  /// Revisits those of these sizes that neither are precise nor have `enough` samples, in equal
  /// shares of the time left, while a share suffices for a visit.
  void refine(std::vector<std::size_t> places, std::size_t enough) {
    constexpr double rounds_of_a_visit = 4;  // three to warm up
    for (bool progress = true; progress;) {
      std::erase_if(places, [&](std::size_t place) { return finished(points_[place], enough); });
      progress = false;
      for (std::size_t i = 0; i < places.size() && time_left() > 0; ++i) {
        Point& point = points_[places[i]];
        const double share_s = time_left() / static_cast<double>(places.size() - i);
        if (rounds_of_a_visit * rounds_.round_s(point.arms) * overrun_ > share_s) continue;
        visit(point, now() + share_s, enough);
        progress = true;
      }
    }
  }

  [[nodiscard]] bool wants_singles(const Point& point, std::size_t enough) const {
    return plan_.singles.has_value() && enough == plan_.sampling.most_samples && !point.has_singles;
  }

  [[nodiscard]] bool finished(const Point& point, std::size_t enough) const {
    return point.arms.empty() ||
           (Rounds::done(point.arms, enough) && !wants_singles(point, enough));
  }

  /// Executes rounds at a size, at least one, until each arm is precise or has `enough` samples, or
  /// until the time `until`. Estimates the cost of interruptions for all arms together.
  void visit(Point& point, double until, std::size_t enough) {
    constexpr double weight = 0.3;
    constexpr double most = 3;
    double spent_s = -now();
    rounds_.warm_up(point.arms, point.bytes);
    spent_s += now();
    if (wants_singles(point, enough)) take_singles(point, until - now());
    std::vector<std::size_t> before;
    before.reserve(point.arms.size());
    for (const ArmAtSize& arm : point.arms) before.push_back(arm.batches);
    spent_s -= now();
    rounds_.repeat(point.arms, enough, [&] {
      if (time_left() > 0 && now() < until) return true;
      return plan_.grace_s > 0 && time_left() + plan_.grace_s > 0 &&
             !Rounds::done(point.arms, fewest_samples);
    });
    spent_s += now();
    double planned_s = 0;
    for (std::size_t i = 0; i < point.arms.size(); ++i) {
      const ArmAtSize& arm = point.arms[i];
      const double repetition_s = plan_.sampling.parts * std::ranges::min(*arm.samples);
      rounds_.models()[arm.index].observe(point.bytes, repetition_s);
      planned_s += batches_.point_s(repetition_s, arm.batches - before[i]);
    }
    if (planned_s <= 0) return;  // simulated arms that take no time
    overrun_ += weight * (std::clamp(spent_s / planned_s, 1.0, most) - overrun_);
  }

  /// Times single repetitions, once per size, for a small part of `seconds`.
  void take_singles(Point& point, double seconds) {
    constexpr double part = 0.1;
    constexpr double most = 200;
    point.has_singles = true;
    const double share_s = part * seconds / static_cast<double>(point.arms.size());
    for (const ArmAtSize& arm : point.arms) {
      const double count = std::min(most, std::floor(share_s / arm.repetition_s));
      if (count < 2 || !batches_.tells_one(arm.repetition_s)) continue;
      if (!loop_.arms()[arm.index]->times_each()) continue;
      open(arm.index, point.bytes, plan_.singles->phase, plan_.singles->metric) =
          loop_
              .round({{.arm = arm.index,
                       .warm = 2,
                       .timed = static_cast<std::int64_t>(count),
                       .each = true}})
              .front();
    }
  }

  void open_samples(Point& point) {
    for (ArmAtSize& arm : point.arms) {
      arm.samples = plan_.phase ? &open(arm.index, point.bytes, *plan_.phase, plan_.metric)
                                : &unrecorded_.emplace_back();
    }
  }

  std::vector<double>& open(std::size_t arm, std::int64_t bytes, const std::string& phase,
                            Metric metric) {
    return launch_.recorder.open({.study = plan_.study,
                                  .case_name = plan_.case_name,
                                  .variant = loop_.arms()[arm]->name(),
                                  .size_bytes = bytes,
                                  .phase = phase,
                                  .metric = metric});
  }

  /// The points, then for each arm the smallest size not measured for lack of time, and the
  /// smallest at which it is too slow.
  [[nodiscard]] SurveyResult conclude(const std::vector<std::size_t>& grid) const {
    SurveyResult result{.points = {}, .discarded = rounds_.discarded(), .coverage = coverage(grid)};
    std::vector<std::optional<std::int64_t>> lacked(loop_.arms().size());
    for (const Point& point : points_) {
      std::vector<bool> measured(loop_.arms().size(), false);
      for (const ArmAtSize& arm : point.arms) {
        measured[arm.index] = true;
        result.points.push_back(
            {.variant = loop_.arms()[arm.index]->name(),
             .size = point.bytes,
             .samples = arm.samples->size(),
             .batch = plan_.sampling.each ? 1 : batches_.repetitions(arm.repetition_s),
             .estimate = arm.estimate,
             .status = arm.converged ? Status::converged : Status::budget});
      }
      for (std::size_t arm = 0; arm < measured.size(); ++arm) {
        if (!measured[arm] && reach_.goes_on(arm, point.bytes) && !lacked[arm]) {
          lacked[arm] = point.bytes;
        }
      }
    }
    for (std::size_t arm = 0; arm < lacked.size(); ++arm) {
      const std::string name = loop_.arms()[arm]->name();
      if (const auto bytes = lacked[arm]) {
        result.points.push_back({.variant = name, .size = *bytes, .status = Status::budget});
      }
      if (const auto bytes = reach_.bound(arm)) {
        result.points.push_back({.variant = name, .size = *bytes, .status = Status::bounded});
      }
    }
    return result;
  }

  [[nodiscard]] Coverage coverage(const std::vector<std::size_t>& grid) const {
    Coverage found;
    for (const std::size_t place : grid) {
      const Point& point = points_[place];
      bool is_wanted = !point.arms.empty();
      if (is_wanted) ++found.measured;
      for (std::size_t arm = 0; arm < loop_.arms().size(); ++arm) {
        is_wanted = is_wanted || reach_.goes_on(arm, point.bytes);
      }
      if (is_wanted) ++found.wanted;
    }
    return found;
  }

  const SurveyPlan& plan_;
  CommandLoop& loop_;
  Launch& launch_;
  BatchPlan batches_;
  Rounds rounds_;
  Reach reach_;
  std::vector<Point> points_;
  std::deque<std::vector<double>> unrecorded_;
  double overrun_ = 1;  ///< estimated ratio of the actual to the planned time of batches
};

}  // namespace

SurveyResult survey(const SurveyPlan& plan, const Arms& arms, MPI_Comm comm, Launch& launch) {
  CommandLoop loop(comm, arms);
  if (!loop.leads()) {
    loop.follow();
    return {};
  }
  for (const auto& arm : arms) record_timing(launch.record, arm->facts());
  SurveyResult result = Leader(plan, loop, launch).run();
  loop.stop();
  return result;
}

void record_points(Launch& launch, const SurveyPlan& plan, const SurveyResult& result) {
  launch.record["warmup_discarded"] = result.discarded;
  launch.record["coverage"] = {{"measured", result.coverage.measured},
                               {"wanted", result.coverage.wanted}};
  auto points = nlohmann::ordered_json::array();
  for (const PointResult& point : result.points) {
    points.push_back(point_record(plan.case_name, point));
  }
  launch.record["points"] = std::move(points);
}

}  // namespace roundtrip
