#include "core/planner.hpp"

#include <gtest/gtest.h>

namespace roundtrip {
namespace {

TEST(CostModel, InterpolatesAndScalesUp) {
  CostModel model;
  EXPECT_TRUE(model.empty());
  model.observe(100, 1.0);
  model.observe(200, 3.0);
  EXPECT_DOUBLE_EQ(model.repetition_s(10), 1.0);
  EXPECT_DOUBLE_EQ(model.repetition_s(100), 1.0);
  EXPECT_DOUBLE_EQ(model.repetition_s(150), 2.0);
  EXPECT_DOUBLE_EQ(model.repetition_s(400), 6.0);
}

TEST(CostModel, KnowsHowFarDownItReaches) {
  CostModel model;
  EXPECT_FALSE(model.reaches(1));
  model.observe(65'536, 1.0);
  EXPECT_FALSE(model.reaches(1));
  EXPECT_TRUE(model.reaches(65'536));
}

TEST(CostModel, KeepsTheBestTimeOfASize) {
  CostModel model;
  model.observe(8, 2.0);
  model.observe(8, 1.0);
  model.observe(8, 5.0);
  EXPECT_DOUBLE_EQ(model.repetition_s(8), 1.0);
}

TEST(BatchPlan, ABatchLastsLongEnoughForTheClock) {
  const BatchPlan plan({.shortest_s = 64.0}, {});
  EXPECT_EQ(plan.repetitions(0.5), 128);
  EXPECT_EQ(plan.repetitions(40.0), 2);
  EXPECT_EQ(plan.repetitions(100.0), 1);
  EXPECT_GE(plan.repetitions(0.0), 1);
}

TEST(BatchPlan, LongRepetitionsAreNotDoubledByWarmUp) {
  const BatchPlan plan({}, {});
  EXPECT_GE(plan.warm(1e-6), 1);
  EXPECT_EQ(plan.warm(0.01), 0);
  EXPECT_DOUBLE_EQ(plan.point_s(0.01), 7 * 0.01);
}

TEST(BatchPlan, TheClockMayAskForMore) {
  EXPECT_EQ(BatchPlan({}, {.resolution_s = 1e-3, .overhead_s = 1e-9}).repetitions(1e-3), 100);
}

TEST(BatchPlan, TellsWhetherTheClockTimesOneRepetition) {
  const BatchPlan plan({}, {.resolution_s = 1e-6, .overhead_s = 1e-9});
  EXPECT_FALSE(plan.tells_one(3e-6));
  EXPECT_TRUE(plan.tells_one(5e-6));
}

TEST(BatchPlan, HasTheMostRepetitionsHoweverShortTheyAre) {
  const BatchPlan plan({.shortest_s = 1, .least = 4, .most = 10}, {});
  EXPECT_EQ(plan.repetitions(1e-6), 10);
  EXPECT_EQ(plan.repetitions(0.2), 5);
}

TEST(BatchPlan, HasTheLeastRepetitionsWhileTheyAreShort) {
  const BatchPlan plan({.shortest_s = 1e-4, .least = 4, .least_on_trial = 16, .filling_s = 1}, {});
  EXPECT_EQ(plan.repetitions(0.1), 4);
  EXPECT_EQ(plan.on_trial(0.05), 16);
  EXPECT_EQ(plan.on_trial(0.1), 10);
  EXPECT_EQ(plan.repetitions(0.6), 1);
}

TEST(DearestPoint, NothingIsGivenUpWhileThereIsTime) {
  EXPECT_GE(dearest_point_s(10.0, {0.1, 0.2, 0.1, 0.2, 0.1, 0.3}, 0.0), 0.3);
}

TEST(DearestPoint, TheDearestPointsAreGivenUpFirst) {
  EXPECT_DOUBLE_EQ(dearest_point_s(10.0, {1, 1, 1, 2, 1, 40, 1, 80}, 0.0), 1.25);
}

TEST(DearestPoint, WithoutTimeOnlyCheapPointsAreLeft) {
  EXPECT_DOUBLE_EQ(dearest_point_s(0.0, {0.001, 5.0}, 0.01), 0.01);
}

}  // namespace
}  // namespace roundtrip
