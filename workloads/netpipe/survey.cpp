#include "netpipe/survey.hpp"

#include <algorithm>
#include <utility>

#include "core/clock.hpp"

namespace roundtrip::netpipe {
namespace {

/// A batch lasts at least this, and a hundred times what the clock costs and resolves.
double shortest_batch_s(const ClockQuality& clock) {
  constexpr double shortest_s = 50e-6;
  constexpr double factor = 100;
  return std::max({shortest_s, factor * clock.resolution_s, factor * clock.overhead_s});
}

/// Part of the budget kept for writing the files.
constexpr double closing_share = 0.02;

}  // namespace

Survey::Survey(SurveyPlan plan, Pair& pair, Launch& launch)
    : plan_(std::move(plan)),
      pair_(pair),
      launch_(launch),
      batches_(shortest_batch_s(launch.clock)),
      rule_(plan_.precision),
      interleaver_(launch.flags.seed),
      models_(plan_.variants.size()),
      left_out_(plan_.variants.size(), false) {}

void Survey::run() {
  probe();
  for (std::size_t point = 0; point < plan_.points.size(); ++point) {
    if (!measure_size(point)) return;
  }
}

/// A look at a middling size tells the slow variants from the fast before any time is divided.
/// Three times, lest an interruption make a fast one seem slow.
void Survey::probe() {
  constexpr std::int64_t probe_bytes = 65'536;
  const std::int64_t size =
      std::clamp(probe_bytes, plan_.points.front().size, plan_.points.back().size);
  pair_.begin_size(size);
  std::vector<Arm> arms;
  for (std::size_t i = 0; i < models_.size(); ++i) arms.push_back({.index = i});
  for (int look = 0; look < 3; ++look) warm_up(arms, size);
}

double Survey::time_left() const {
  return launch_.time_left() - closing_share * launch_.flags.budget_s;
}

bool Survey::measure_size(std::size_t point) {
  const std::int64_t size = plan_.points[point].size;
  if (time_left() <= 0) {
    for (std::size_t arm = 0; arm < models_.size(); ++arm) leave_out(arm, size, Status::budget);
    return false;
  }
  const Allotment allotment = this->allotment(point);
  const double begun = now();
  const double until = begun + std::min(allotment.size_s * overrun_, time_left());
  std::vector<Arm> arms = admitted(point, allotment);
  pair_.begin_size(size);
  warm_up(arms, size);
  for (Arm& arm : arms) {
    arm.samples = &launch_.recorder.open(
        {.study = "netpipe",
         .case_name = plan_.case_name,
         .variant = plan_.variants[arm.index],
         .size_bytes = size,
         .phase = "measure",
         .metric = plan_.mode == Mode::stream ? "time_per_message" : "half_round_trip_time",
         .unit = "s"});
  }
  repeat(arms, until);
  judge(arms);
  learn(arms, size, now() - begun);
  for (const Arm& arm : arms) {
    results_.push_back({.variant = plan_.variants[arm.index],
                        .size = size,
                        .samples = arm.samples->size(),
                        .batch = batches_.exchanges(arm.exchange_s),
                        .estimate = arm.estimate,
                        .status = arm.converged ? Status::converged : Status::budget});
  }
  return true;
}

Allotment Survey::allotment(std::size_t point) const {
  std::vector<std::vector<double>> costs;
  for (std::size_t i = point; i < plan_.points.size(); ++i) {
    auto& of_size = costs.emplace_back();
    for (std::size_t arm = 0; arm < models_.size(); ++arm) {
      if (left_out_[arm]) continue;
      of_size.push_back(batches_.point_s(models_[arm].exchange_s(plan_.points[i].size)));
    }
  }
  // An exchange that fits in the shortest batch costs what a byte costs: no reason to stop there.
  return allot(time_left() / overrun_, costs, batches_.point_s(1e-6));
}

void Survey::leave_out(std::size_t arm, std::int64_t size, Status status) {
  if (left_out_[arm]) return;
  left_out_[arm] = true;
  results_.push_back({.variant = plan_.variants[arm], .size = size, .status = status});
}

/// The arms to measure at this size: all but slow ones whose point is too dear. Slow is relative to
/// the fastest arm, which goes on as long as there is time.
std::vector<Survey::Arm> Survey::admitted(std::size_t point, const Allotment& allotment) {
  constexpr double slow = 3;
  const std::int64_t size = plan_.points[point].size;
  std::vector<Arm> arms;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (!left_out_[i]) arms.push_back({.index = i, .exchange_s = models_[i].exchange_s(size)});
  }
  const double fastest_s = std::ranges::min(arms, {}, &Arm::exchange_s).exchange_s;
  std::erase_if(arms, [&](const Arm& arm) {
    const bool too_slow = arm.exchange_s > slow * fastest_s &&
                          batches_.point_s(arm.exchange_s) > allotment.dearest_point_s;
    if (too_slow) leave_out(arm.index, size, Status::bounded);
    return too_slow;
  });
  return arms;
}

/// Checks each arm's data, then lets it run until its batches can be sized. What it did is not
/// recorded.
void Survey::warm_up(std::vector<Arm>& arms, std::int64_t size) {
  constexpr double most_above_model = 2;
  const auto checked_s = discarded_round(arms, true);
  std::vector<Arm> brief;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    arms[i].exchange_s = checked_s[i];
    // An interrupted check would make the batches too short for the clock.
    const CostModel& model = models_[arms[i].index];
    if (!model.empty()) {
      arms[i].exchange_s = std::min(checked_s[i], most_above_model * model.exchange_s(size));
    }
    if (!BatchPlan::is_long(arms[i].exchange_s)) brief.push_back(arms[i]);
  }
  for (int round = 0; round < 2 && !brief.empty(); ++round) {
    const auto seconds = discarded_round(brief, false);
    for (std::size_t i = 0; i < brief.size(); ++i) {
      const auto exchanges = static_cast<double>(batches_.exchanges(brief[i].exchange_s));
      brief[i].exchange_s = std::min(brief[i].exchange_s, seconds[i] / exchanges);
    }
  }
  for (Arm& arm : arms) {
    for (const Arm& measured : brief) {
      if (measured.index == arm.index) arm.exchange_s = measured.exchange_s;
    }
    models_[arm.index].observe(size, arm.exchange_s);
  }
}

std::vector<double> Survey::discarded_round(std::vector<Arm>& arms, bool verify) {
  std::vector<Batch> batches;
  batches.reserve(arms.size());
  for (const Arm& arm : arms) {
    batches.push_back({.arm = static_cast<std::int64_t>(arm.index),
                       .verify = verify ? 1 : 0,
                       .warm = 0,
                       .exchanges = verify ? 0 : batches_.exchanges(arm.exchange_s)});
  }
  discarded_ += static_cast<std::int64_t>(batches.size());
  std::vector<double> seconds;
  for (const Outcome& outcome : pair_.round(batches)) seconds.push_back(outcome.seconds);
  return seconds;
}

/// Rounds until all arms have converged, or `until`; not more of an arm that has converged if its
/// batches would cost the others theirs.
void Survey::repeat(std::vector<Arm>& arms, double until) {
  constexpr double dear = 2;
  std::size_t look = StoppingRule::next_look(0);
  for (std::size_t rounds = 1;; ++rounds) {
    double longest_s = 0;
    for (const Arm& arm : arms) {
      if (!arm.converged) longest_s = std::max(longest_s, batches_.batch_s(arm.exchange_s));
    }
    std::vector<Arm*> riders;
    for (Arm& arm : arms) {
      if (!arm.converged || batches_.batch_s(arm.exchange_s) <= dear * longest_s) {
        riders.push_back(&arm);
      }
    }
    timed_round(std::move(riders));
    if (rounds == look) {
      judge(arms);
      if (std::ranges::all_of(arms, &Arm::converged)) return;
      look = StoppingRule::next_look(rounds);
    }
    if (time_left() <= 0 || (rounds >= fewest_samples && now() >= until)) return;
  }
}

void Survey::timed_round(std::vector<Arm*> riders) {
  interleaver_.shuffle(riders);
  std::vector<Batch> batches;
  batches.reserve(riders.size());
  for (const Arm* arm : riders) {
    batches.push_back({.arm = static_cast<std::int64_t>(arm->index),
                       .verify = 0,
                       .warm = batches_.warm(arm->exchange_s),
                       .exchanges = batches_.exchanges(arm->exchange_s)});
  }
  const auto outcomes = pair_.round(batches);
  for (std::size_t i = 0; i < riders.size(); ++i) {
    const auto exchanges = static_cast<double>(batches[i].exchanges);
    riders[i]->samples->push_back(outcomes[i].seconds / exchanges / messages());
  }
}

/// What an arm costs is judged by its median, which one interruption does not change: a variant
/// once bounded stays so. What interruptions cost is learnt for all arms together.
void Survey::learn(const std::vector<Arm>& arms, std::int64_t size, double elapsed_s) {
  constexpr double weight = 0.3;
  constexpr double most = 3;
  double planned_s = 0;
  for (const Arm& arm : arms) {
    const double exchange_s = messages() * std::ranges::min(*arm.samples);
    models_[arm.index].observe(size, exchange_s);
    planned_s += batches_.point_s(exchange_s, arm.samples->size());
  }
  overrun_ += weight * (std::clamp(elapsed_s / planned_s, 1.0, most) - overrun_);
}

/// Messages one after the other in an exchange.
double Survey::messages() const {
  return plan_.mode == Mode::pingpong ? 2 : 1;
}

void Survey::judge(std::vector<Arm>& arms) const {
  for (Arm& arm : arms) {
    arm.estimate = estimate_median(*arm.samples);
    arm.converged = rule_.reached(*arm.estimate);
  }
}

}  // namespace roundtrip::netpipe
