#include "ring/survey.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace roundtrip::ring {
namespace {

/// Fewest batches of a point: the least for which a 95 % interval of the median exists.
constexpr std::size_t fewest_samples = 6;

/// A batch lasts at least this, and a hundred times what the clock costs and resolves.
double shortest_batch_s(const ClockQuality& clock) {
  constexpr double shortest_s = 100e-6;
  constexpr double factor = 100;
  return std::max({shortest_s, factor * clock.resolution_s, factor * clock.overhead_s});
}

/// Laps that tell how long one takes: at most so many, and for no longer than this.
constexpr double most_trial_laps = 16;
constexpr double longest_trial_s = 50e-3;

/// More laps than fill the shortest batch are taken for no longer than this.
constexpr double longest_filling_s = 50e-3;

/// Part of the budget kept for writing the files.
constexpr double closing_share = 0.02;

}  // namespace

Survey::Survey(SurveyPlan plan, Crew& crew, Launch& launch)
    : plan_(std::move(plan)),
      crew_(crew),
      launch_(launch),
      rule_(plan_.precision),
      interleaver_(launch.flags.seed),
      batch_s_(shortest_batch_s(launch.clock)),
      costs_(plan_.names.size()),
      left_out_(plan_.names.size(), false) {}

void Survey::run() {
  for (std::size_t i = 0; i < plan_.sizes.size(); ++i) {
    cover(plan_.sizes[i], time_left() / static_cast<double>(plan_.sizes.size() - i));
  }
  for (std::size_t i = 0; i < at_.size() && time_left() > 0; ++i) {
    refine(at_[i], time_left() / static_cast<double>(at_.size() - i));
  }
  conclude();
}

double Survey::time_left() const {
  return std::max(0.0, launch_.time_left() - closing_share * launch_.flags.budget_s);
}

/// Gives each transport that can afford this size its fewest samples there; one, once a busy
/// machine has taken so much longer than the budget that the job's time limit comes near.
void Survey::cover(std::int64_t size, double share_s) {
  AtSize at{.size = size, .arms = {}};
  for (std::size_t i = 0; i < plan_.names.size(); ++i) {
    if (!admit(i, size, share_s)) continue;
    Arm& arm = at.arms.emplace_back(Arm{.index = i});
    warm_up(arm, size);
    arm.samples = &series(arm, size, "measure", metrics::time_per_pass);
  }
  if (at.arms.empty()) return;
  const double longest_over_s = launch_.flags.budget_s + 30;
  for (std::size_t rounds = 0; rounds < fewest_samples; ++rounds) {
    if (rounds > 0 && launch_.time_left() < -longest_over_s) break;
    round(at.arms);
  }
  judge(at.arms);
  for (const Arm& arm : at.arms) {
    costs_[arm.index].observe(size, arm.estimate->median * plan_.passes);
  }
  at_.push_back(std::move(at));
}

/// Comes back to a size for its share of the time: single laps, then rounds until all is precise.
void Survey::refine(AtSize& at, double share_s) {
  constexpr double rounds_of_a_visit = 8;  // laps one by one and warming up included
  const double until = now() + share_s;
  double round_s = 0;
  for (const Arm& arm : at.arms) round_s += static_cast<double>(laps(arm.lap_s)) * arm.lap_s;
  if (rounds_of_a_visit * round_s > share_s) return;
  for (Arm& arm : at.arms) warm_up(arm, at.size);
  const double each = share_s / static_cast<double>(at.arms.size());
  for (const Arm& arm : at.arms) time_laps(arm, at.size, each);
  std::size_t look = StoppingRule::next_look(at.arms.front().samples->size());
  while (now() < until && !std::ranges::all_of(at.arms, &Arm::converged)) {
    round(at.arms);
    if (at.arms.front().samples->size() < look) continue;
    judge(at.arms);
    look = StoppingRule::next_look(look);
  }
  judge(at.arms);
}

void Survey::conclude() {
  for (const AtSize& at : at_) {
    for (const Arm& arm : at.arms) {
      results_.push_back({.variant = plan_.names[arm.index],
                          .size = at.size,
                          .samples = arm.samples->size(),
                          .batch = laps(arm.lap_s),
                          .estimate = arm.estimate,
                          .status = arm.converged ? Status::converged : Status::budget});
    }
  }
}

/// Leaves a transport out for good once its fewest batches would take more than the size's share of
/// the time. What needs no more than half of an equal part of the whole budget stays, however much
/// of that a busy machine has spent before.
bool Survey::admit(std::size_t arm, std::int64_t size, double share_s) {
  if (left_out_[arm]) return false;
  const double batches = fewest_samples + 2;
  const double lap_s = costs_[arm].lap_s(size);
  const double batch_s = std::max(batch_s_, lap_s * static_cast<double>(laps(lap_s)));
  const auto points = static_cast<double>(plan_.sizes.size() * plan_.names.size());
  const double fair_s = std::max(2 * batches * batch_s_, launch_.flags.budget_s / 2 / points);
  if (batches * batch_s <= std::max(share_s, fair_s)) return true;
  left_out_[arm] = true;
  results_.push_back({.variant = plan_.names[arm], .size = size, .status = Status::bounded});
  return false;
}

void Survey::Cost::observe(std::int64_t at, double seconds) {
  if (bytes > 0) byte_s = std::max(0.0, (seconds - known_s) / static_cast<double>(at - bytes));
  bytes = at;
  known_s = seconds;
}

double Survey::Cost::lap_s(std::int64_t at) const {
  if (bytes == 0) return 0;
  // A time grows no faster than the size, whatever an interruption between two sizes looks like.
  const double proportional_s = known_s * static_cast<double>(at) / static_cast<double>(bytes);
  return std::min(known_s + byte_s * static_cast<double>(at - bytes), proportional_s);
}

/// A checked lap, then batches until their length is known. Nothing of it is recorded.
void Survey::warm_up(Arm& arm, std::int64_t size) {
  const std::size_t index = arm.index;
  crew_.begin(index, static_cast<std::size_t>(size));
  const double first_s = crew_.run(index, {.timed = 1, .verify = true}).front();
  // The first lap says little: it may have waited for a rank to come from elsewhere.
  const double trials = std::clamp(std::floor(longest_trial_s / first_s), 1.0, most_trial_laps);
  auto times = crew_.run(index, {.warm = 1,
                                 .timed = static_cast<std::int64_t>(trials),
                                 .closing = plan_.closing_laps,
                                 .each = true});
  std::ranges::sort(times);
  const double median_s = times[times.size() / 2];
  // Coming back to a size: what was slower this time was interrupted.
  arm.lap_s = arm.lap_s > 0 ? std::min(arm.lap_s, median_s) : median_s;
  discarded_ += 2;
  for (int round = 0; round < 2 && arm.lap_s < batch_s_; ++round, ++discarded_) {
    const Laps batch = batch_of(arm.lap_s);
    const double batch_s = crew_.run(index, batch).front();
    arm.lap_s = std::min(arm.lap_s, batch_s / static_cast<double>(batch.timed));
  }
}

void Survey::time_laps(const Arm& arm, std::int64_t size, double share_s) {
  constexpr double most = 200;
  constexpr double part = 0.1;
  if (crew_.reads(arm.index)) return;  // a lap's tail is the transport's, whoever reads
  const double count = std::min(most, std::floor(part * share_s / arm.lap_s));
  if (count < 2) return;
  const auto times = crew_.run(arm.index, {.warm = 2,
                                           .timed = static_cast<std::int64_t>(count),
                                           .closing = plan_.closing_laps,
                                           .each = true});
  auto& samples = series(arm, size, "laps", metrics::lap_time);
  samples.insert(samples.end(), times.begin(), times.end());
}

void Survey::round(std::vector<Arm>& arms) {
  std::vector<Arm*> riders(arms.size());
  std::ranges::transform(arms, riders.begin(), [](Arm& arm) { return &arm; });
  interleaver_.shuffle(riders);
  for (Arm* arm : riders) {
    const Laps batch = batch_of(arm->lap_s);
    const double seconds = crew_.run(arm->index, batch).front();
    arm->samples->push_back(seconds / static_cast<double>(batch.timed * plan_.passes));
  }
}

void Survey::judge(std::vector<Arm>& arms) const {
  for (Arm& arm : arms) {
    arm.estimate = estimate_median(*arm.samples);
    arm.converged = rule_.reached(*arm.estimate);
  }
}

std::int64_t Survey::laps(double lap_s) const {
  constexpr double most = 1e6;
  const double one_s = std::max(lap_s, 1e-9);
  const double filling = std::min(plan_.batch_laps, std::floor(longest_filling_s / one_s));
  return static_cast<std::int64_t>(
      std::clamp(std::max(filling, std::ceil(batch_s_ / one_s)), 1.0, most));
}

Laps Survey::batch_of(double lap_s) const {
  constexpr std::int64_t warm_share = 16;
  const std::int64_t count = laps(lap_s);
  return {.warm = 1 + count / warm_share, .timed = count, .closing = plan_.closing_laps};
}

std::vector<double>& Survey::series(const Arm& arm, std::int64_t size, const char* phase,
                                    Metric metric) {
  return launch_.recorder.open({.study = "ring",
                                .case_name = plan_.case_name,
                                .variant = plan_.names[arm.index],
                                .size_bytes = size,
                                .phase = phase,
                                .metric = metric});
}

}  // namespace roundtrip::ring
