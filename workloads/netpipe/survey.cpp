#include "netpipe/survey.hpp"

#include <algorithm>
#include <limits>
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
      reach_(plan_.variants.size()),
      arms_(plan_.points.size()) {}

void Survey::run() {
  probe();
  const SurveyOrder order = survey_order(plan_.points);
  cover(order.coarse);
  refine(order.coarse, fewest_samples);
  cover(order.fine);
  std::vector<std::size_t> all = order.coarse;
  all.insert(all.end(), order.fine.begin(), order.fine.end());
  refine(std::move(all), std::numeric_limits<std::size_t>::max());
  conclude();
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

/// Gives each of these sizes its fewest samples, within equal parts of the time left.
void Survey::cover(const std::vector<std::size_t>& points) {
  for (std::size_t i = 0; i < points.size() && time_left() > 0; ++i) {
    const double until = now() + time_left() / static_cast<double>(points.size() - i);
    admit(points[i], dearest_point());
    visit(points[i], until, fewest_samples);
  }
}

/// Comes back to those of these sizes that are not precise nor have `enough` samples, for equal
/// parts of the time left, as long as it lasts for a round.
void Survey::refine(std::vector<std::size_t> points, std::size_t enough) {
  constexpr double rounds_of_a_visit = 4;  // three to warm up
  for (bool progress = true; progress;) {
    std::erase_if(points, [&](std::size_t point) { return done(arms_[point], enough); });
    progress = false;
    for (std::size_t i = 0; i < points.size() && time_left() > 0; ++i) {
      const double share_s = time_left() / static_cast<double>(points.size() - i);
      double round_s = 0;
      for (const Arm* arm : riders(arms_[points[i]])) round_s += batches_.batch_s(arm->exchange_s);
      if (rounds_of_a_visit * round_s * overrun_ > share_s) continue;
      visit(points[i], now() + share_s, enough);
      progress = true;
    }
  }
}

/// Rounds at a size until its arms are precise, each has `enough` samples, or `until`; at least
/// one. What interruptions cost is learnt for all arms together.
void Survey::visit(std::size_t point, double until, std::size_t enough) {
  constexpr double weight = 0.3;
  constexpr double most = 3;
  std::vector<Arm>& arms = arms_[point];
  const std::int64_t size = plan_.points[point].size;
  const double begun = now();
  pair_.begin_size(size);
  warm_up(arms, size);
  std::vector<std::size_t> before;
  before.reserve(arms.size());
  for (const Arm& arm : arms) before.push_back(arm.samples->size());
  repeat(arms, until, enough);
  double planned_s = 0;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const double exchange_s = messages() * std::ranges::min(*arms[i].samples);
    models_[arms[i].index].observe(size, exchange_s);
    planned_s += batches_.point_s(exchange_s, arms[i].samples->size() - before[i]);
  }
  overrun_ += weight * (std::clamp((now() - begun) / planned_s, 1.0, most) - overrun_);
}

void Survey::conclude() {
  std::vector<std::optional<std::int64_t>> left_out(models_.size());
  for (std::size_t point = 0; point < arms_.size(); ++point) {
    std::vector<bool> measured(models_.size(), false);
    for (const Arm& arm : arms_[point]) {
      measured[arm.index] = true;
      results_.push_back({.variant = plan_.variants[arm.index],
                          .size = plan_.points[point].size,
                          .samples = arm.samples->size(),
                          .batch = batches_.exchanges(arm.exchange_s),
                          .estimate = arm.estimate,
                          .status = arm.converged ? Status::converged : Status::budget});
    }
    for (std::size_t arm = 0; arm < measured.size(); ++arm) {
      const std::int64_t size = plan_.points[point].size;
      if (!measured[arm] && goes_on(arm, size) && !left_out[arm]) left_out[arm] = size;
    }
  }
  for (std::size_t arm = 0; arm < reach_.size(); ++arm) {
    const std::string& variant = plan_.variants[arm];
    if (const auto size = left_out[arm]) {
      results_.push_back({.variant = variant, .size = *size, .status = Status::budget});
    }
    if (const auto size = reach_[arm].bounded) {
      results_.push_back({.variant = variant, .size = *size, .status = Status::bounded});
    }
  }
}

bool Survey::goes_on(std::size_t arm, std::int64_t size) const {
  return !reach_[arm].bounded || size < *reach_[arm].bounded;
}

/// Over the sizes that have not been measured yet.
double Survey::dearest_point() const {
  std::vector<double> costs;
  for (std::size_t point = 0; point < arms_.size(); ++point) {
    if (!arms_[point].empty()) continue;
    const std::int64_t size = plan_.points[point].size;
    for (std::size_t arm = 0; arm < models_.size(); ++arm) {
      if (goes_on(arm, size)) costs.push_back(batches_.point_s(models_[arm].exchange_s(size)));
    }
  }
  // An exchange that fits in the shortest batch costs what a byte costs: no reason to stop there.
  return dearest_point_s(time_left() / overrun_, std::move(costs), batches_.point_s(1e-6));
}

/// Makes the arms of this size: all but slow ones whose point is too dear, which are bounded from
/// here on. Slow is relative to the fastest arm, which goes on as long as there is time.
void Survey::admit(std::size_t point, double dearest_s) {
  constexpr double slow = 3;
  const std::int64_t size = plan_.points[point].size;
  std::vector<Arm>& arms = arms_[point];
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (goes_on(i, size)) arms.push_back({.index = i, .exchange_s = models_[i].exchange_s(size)});
  }
  const double fastest_s = std::ranges::min(arms, {}, &Arm::exchange_s).exchange_s;
  std::erase_if(arms, [&](const Arm& arm) {
    const bool too_slow = models_[arm.index].reaches(size) && size > reach_[arm.index].measured &&
                          arm.exchange_s > slow * fastest_s &&
                          batches_.point_s(arm.exchange_s) > dearest_s;
    if (too_slow) reach_[arm.index].bounded = size;
    return too_slow;
  });
  for (Arm& arm : arms) {
    reach_[arm.index].measured = std::max(reach_[arm.index].measured, size);
    arm.look = StoppingRule::next_look(0);
    arm.samples = &launch_.recorder.open({.study = "netpipe",
                                          .case_name = plan_.case_name,
                                          .variant = plan_.variants[arm.index],
                                          .size_bytes = size,
                                          .phase = "measure",
                                          .metric = plan_.mode == Mode::stream
                                                        ? metrics::time_per_message
                                                        : metrics::half_round_trip_time});
  }
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

void Survey::repeat(std::vector<Arm>& arms, double until, std::size_t enough) {
  do {
    timed_round(riders(arms));
  } while (!done(arms, enough) && time_left() > 0 && now() < until);
  for (Arm& arm : arms) look_at(arm);
}

bool Survey::done(const std::vector<Arm>& arms, std::size_t enough) {
  return std::ranges::all_of(
      arms, [&](const Arm& arm) { return arm.converged || arm.samples->size() >= enough; });
}

/// All arms but those that have converged and whose batches would cost the others theirs.
std::vector<Survey::Arm*> Survey::riders(std::vector<Arm>& arms) const {
  constexpr double dear = 2;
  double longest_s = 0;
  for (const Arm& arm : arms) {
    if (!arm.converged) longest_s = std::max(longest_s, batches_.batch_s(arm.exchange_s));
  }
  std::vector<Arm*> found;
  for (Arm& arm : arms) {
    if (!arm.converged || batches_.batch_s(arm.exchange_s) <= dear * longest_s) {
      found.push_back(&arm);
    }
  }
  return found;
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
    Arm& arm = *riders[i];
    arm.samples->push_back(outcomes[i].seconds / exchanges / messages());
    if (arm.samples->size() < arm.look) continue;
    look_at(arm);
    arm.look = StoppingRule::next_look(arm.samples->size());
  }
}

/// Messages one after the other in an exchange.
double Survey::messages() const {
  return plan_.mode == Mode::pingpong ? 2 : 1;
}

void Survey::look_at(Arm& arm) const {
  arm.estimate = estimate_median(*arm.samples);
  arm.converged = rule_.reached(*arm.estimate);
}

}  // namespace roundtrip::netpipe
