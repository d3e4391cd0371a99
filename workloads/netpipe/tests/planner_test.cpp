#include "netpipe/planner.hpp"

#include <gtest/gtest.h>

namespace roundtrip::netpipe {
namespace {

TEST(CostModel, InterpolatesAndScalesUp) {
  CostModel model;
  EXPECT_TRUE(model.empty());
  model.observe(100, 1.0);
  model.observe(200, 3.0);
  EXPECT_DOUBLE_EQ(model.exchange_s(10), 1.0);
  EXPECT_DOUBLE_EQ(model.exchange_s(100), 1.0);
  EXPECT_DOUBLE_EQ(model.exchange_s(150), 2.0);
  EXPECT_DOUBLE_EQ(model.exchange_s(400), 6.0);
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
  EXPECT_DOUBLE_EQ(model.exchange_s(8), 1.0);
}

TEST(BatchPlan, ABatchLastsLongEnoughForTheClock) {
  const BatchPlan plan(64.0);
  EXPECT_EQ(plan.exchanges(0.5), 128);
  EXPECT_EQ(plan.exchanges(40.0), 2);
  EXPECT_EQ(plan.exchanges(100.0), 1);
  EXPECT_GE(plan.exchanges(0.0), 1);
}

TEST(BatchPlan, LongExchangesAreNotDoubledByWarmUp) {
  const BatchPlan plan(50e-6);
  EXPECT_GE(plan.warm(1e-6), 1);
  EXPECT_EQ(plan.warm(0.01), 0);
  EXPECT_DOUBLE_EQ(plan.point_s(0.01), 7 * 0.01);
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
}  // namespace roundtrip::netpipe
