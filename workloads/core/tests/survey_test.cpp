#include "core/survey.hpp"
#include "core/launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/failure.hpp"
#include "core/testing/session.hpp"
#include "core/tests/fake_arm.hpp"

namespace roundtrip {
namespace {

SurveyPlan plan(std::vector<std::int64_t> sizes) {
  return {.study = "study",
          .case_name = "case",
          .metric = metrics::time,
          .sizes = std::move(sizes),
          .sampling = {.precision = 0.1}};
}

class SurveyTest : public testing::Test {
 protected:
  SurveyTest() { flags_.budget_s = now() - test_session().start() + 20; }

  Launch launch() {
    return {test_session(), flags_, {.resolution_s = 1e-9, .overhead_s = 1e-9}, {}, {}};
  }

  template <class ArmType = FakeArm>
  void add(const std::string& name, double start_s, double byte_s) {
    arms_.push_back(std::make_unique<ArmType>(name, seen_[name], start_s, byte_s));
  }

  CommonFlags flags_;
  std::map<std::string, Seen> seen_;
  Arms arms_;
};

TEST_F(SurveyTest, MeasuresEveryArmAtEverySizeUntilItIsPrecise) {
  add("fast", 1e-6, 1e-9);
  add("slow", 4e-6, 0);
  Launch run = launch();
  const auto result = survey(plan({1, 2, 4, 8, 1100}), arms_, test_session().world(), run);
  EXPECT_GT(seen_["fast"].verified, 5);
  EXPECT_EQ(seen_["fast"].verified, seen_["slow"].verified);
  if (!test_session().root()) {
    EXPECT_TRUE(result.points.empty());
    return;
  }
  ASSERT_EQ(result.points.size(), 10U);
  EXPECT_GT(result.discarded, 0);
  for (const PointResult& point : result.points) {
    const bool fast = point.variant == "fast";
    const double expected_s = fast ? 1e-6 + 1e-9 * static_cast<double>(point.size) : 4e-6;
    EXPECT_EQ(point.samples, 6U);
    EXPECT_EQ(point.status, Status::converged);
    EXPECT_NEAR(point.estimate->median, expected_s, 1e-12) << "the maximum over the ranks";
    EXPECT_EQ(point.batch, static_cast<std::int64_t>(std::ceil(50e-6 / expected_s)));
  }
  EXPECT_EQ(result.coverage.measured, 3U) << "1, 4 and 1100";
  EXPECT_EQ(result.coverage.wanted, 3U);
  EXPECT_EQ(run.recorder.rows(), 60U);
  EXPECT_EQ(
      run.record["timing"].dump(),
      R"({"clock":"each rank","synchronisation":"none","over_ranks":"maximum","cache":"several"})");
}

TEST_F(SurveyTest, TakesACoarseGridFirst) {
  add("fast", 1e-6, 1e-9);
  Launch run = launch();
  survey(plan({1, 2, 4, 8, 16}), arms_, test_session().world(), run);
  auto sizes = seen_["fast"].prepared;
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  sizes.resize(6);
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{16, 1, 16, 4, 2, 8})) << "the probe, grid, the rest";
}

TEST_F(SurveyTest, WithoutTimeItSaysWhatIsMissing) {
  flags_.budget_s = 1e-9;
  add("fast", 1e-6, 0);
  Launch run = launch();
  const auto result = survey(plan({8, 16}), arms_, test_session().world(), run);
  if (!test_session().root()) return;
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_EQ(result.points[0].size, 8);
  EXPECT_EQ(result.points[0].samples, 0U);
  EXPECT_EQ(result.points[0].status, Status::budget);
  EXPECT_EQ(result.coverage.measured, 0U);
  EXPECT_EQ(result.coverage.wanted, 2U);
}

TEST_F(SurveyTest, ItsGraceIsForTheFewestSamples) {
  flags_.budget_s = 1e-9;
  add("fast", 1e-6, 0);
  SurveyPlan graceful = plan({8, 16});
  graceful.grace_s = now() - test_session().start() + 20;
  Launch run = launch();
  const auto result = survey(graceful, arms_, test_session().world(), run);
  if (!test_session().root()) return;
  ASSERT_EQ(result.points.size(), 2U);
  for (const PointResult& point : result.points) EXPECT_EQ(point.samples, 6U);
}

TEST_F(SurveyTest, BoundsAnArmThatWouldTakeTheTimeOfTheOthers) {
  flags_.budget_s = now() - test_session().start() + 60;
  add("fast", 1e-6, 1e-9);
  add("slow", 1e-6, 1e-4);  // at a million bytes: a hundred seconds
  Launch run = launch();
  const auto result = survey(plan({1, 1000, 1'000'000}), arms_, test_session().world(), run);
  if (!test_session().root()) return;
  const PointResult& last = result.points.back();
  EXPECT_EQ(last.variant, "slow");
  EXPECT_EQ(last.status, Status::bounded);
  EXPECT_EQ(last.size, 1'000'000);
  EXPECT_EQ(std::ranges::count(result.points, 1'000'000, &PointResult::size), 2);
}

TEST_F(SurveyTest, BoundsAllArmsWhereTwoRoundsDoNotFitTheBudget) {
  flags_.budget_s = now() - test_session().start() + 60;
  add("fast", 1e-6, 1e-4);
  add("slow", 2e-6, 1e-4);
  Launch run = launch();
  const auto result = survey(plan({1, 1000, 1'000'000}), arms_, test_session().world(), run);
  if (!test_session().root()) return;
  EXPECT_EQ(std::ranges::count(result.points, Status::bounded, &PointResult::status), 2);
  EXPECT_EQ(result.coverage.measured, 2U);
  EXPECT_EQ(result.coverage.wanted, 2U) << "what is too slow for all was not wanted";
  for (const PointResult& point : result.points) {
    EXPECT_EQ(point.samples == 0, point.size == 1'000'000) << point.variant << point.size;
  }
}

TEST_F(SurveyTest, TakesSingleRepetitionsOfArmsThatCan) {
  add("fast", 1e-3, 0);
  add("slow", 1e-3, 0);
  SurveyPlan with_singles = plan({8});
  with_singles.singles = Singles{.phase = "laps", .metric = metrics::lap_time};
  Launch run = launch();
  survey(with_singles, arms_, test_session().world(), run);
  if (!test_session().root()) return;
  const std::string text = run.recorder.csv({});
  EXPECT_NE(text.find("\nstudy,case,fast,8,laps,1,lap_time,0.001,s\n"), std::string::npos);
  EXPECT_EQ(text.find(",slow,8,laps,"), std::string::npos);
}

/// A clock as coarse as a repetition would read 0 for some of them.
TEST_F(SurveyTest, TakesNoSingleRepetitionsThatTheClockCannotTell) {
  add("fast", 1e-3, 0);
  SurveyPlan with_singles = plan({8});
  with_singles.singles = Singles{.phase = "laps", .metric = metrics::lap_time};
  Launch run = launch();
  run.clock.resolution_s = 1e-3;
  survey(with_singles, arms_, test_session().world(), run);
  if (!test_session().root()) return;
  const std::string text = run.recorder.csv({});
  EXPECT_NE(text.find(",fast,8,measure,"), std::string::npos);
  EXPECT_EQ(text.find(",laps,"), std::string::npos);
}

/// The whole time of a single size is for its rounds.
TEST_F(SurveyTest, VisitsASingleSizeOnce) {
  add("fast", 1e-6, 0);
  Launch run = launch();
  survey(plan({8}), arms_, test_session().world(), run);
  EXPECT_EQ(seen_["fast"].verified, 1);
}

TEST_F(SurveyTest, TakesEachRepetitionOfABatchAsASample) {
  add("fast", 1e-3, 0);
  add("slow", 4e-3, 0);
  SurveyPlan with_each = plan({8});
  with_each.sampling = {
      .precision = 0.1, .parts = 2, .each = true, .fewest_batches = 3, .most_samples = 1000};
  with_each.pace = {.long_s = 1, .least = 10, .filling_s = 1, .most = 10};
  with_each.phase = std::nullopt;
  Launch run = launch();
  const auto result = survey(with_each, arms_, test_session().world(), run);
  if (!test_session().root()) return;
  ASSERT_EQ(result.points.size(), 2U);
  for (const PointResult& point : result.points) {
    EXPECT_EQ(point.samples, 30U) << "three batches of ten, though six samples are precise";
    EXPECT_EQ(point.batch, 1);
    EXPECT_EQ(point.status, Status::converged);
    EXPECT_NEAR(point.estimate->median, point.variant == "fast" ? 5e-4 : 2e-3, 1e-12);
  }
  EXPECT_EQ(run.recorder.rows(), 0U) << "the study records";
}

TEST_F(SurveyTest, EndsWithTheMostSamples) {
  add("fast", 1e-3, 0);
  SurveyPlan imprecise = plan({8});
  imprecise.sampling = {.precision = -1, .most_samples = 12};
  Launch run = launch();
  const auto result = survey(imprecise, arms_, test_session().world(), run);
  if (!test_session().root()) return;
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_EQ(result.points[0].samples, 12U);
  EXPECT_EQ(result.points[0].status, Status::budget);
}

TEST_F(SurveyTest, EndsAtItsDeadlineWithBudgetLeft) {
  add("fast", 1e-3, 0);
  SurveyPlan brief = plan({8});
  brief.sampling.precision = -1;
  brief.pace = {.long_s = 1e-6};
  brief.deadline_s = now() + 0.1;
  Launch run = launch();
  const auto result = survey(brief, arms_, test_session().world(), run);
  if (!test_session().root()) return;
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_GE(result.points[0].samples, 1U);
  EXPECT_LE(result.points[0].samples, 100U) << "of a millisecond each";
  EXPECT_GT(run.time_left(), 0);
}

TEST_F(SurveyTest, WrongDataEndsItOnEveryRank) {
  add("fast", 1e-6, 0);
  add<WrongArm>("wrong", 1e-6, 0);
  Launch run = launch();
  try {
    survey(plan({1, 100}), arms_, test_session().world(), run);
    FAIL() << "nothing was thrown";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), Exit::wrong_data);
    EXPECT_EQ(failure.what(), "wrong data: arm wrong, 100 bytes, at rank " +
                                  std::to_string(test_session().size() - 1));
  }
}

TEST_F(SurveyTest, WhatOneRankCannotPrepareEndsItOnEveryRank) {
  add<HugeArm>("huge", 1e-6, 0);
  Launch run = launch();
  try {
    survey(plan({1}), arms_, test_session().world(), run);
    FAIL() << "nothing was thrown";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), Exit::usage);
    EXPECT_STREQ(failure.what(), "no room");
  }
}

}  // namespace
}  // namespace roundtrip

/// The clock of the measurements: real time plus the time of the fake arms.
double MPI_Wtime() {
  return PMPI_Wtime() + roundtrip::passed_s;
}
