#include "core/point.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace roundtrip {
namespace {

const std::vector<PointResult> results = {
    {.variant = "fast",
     .size = 8,
     .samples = 7,
     .batch = 3,
     .estimate = Estimate{.median = 1.5e-6, .relative_half_width = 0.01},
     .status = Status::converged},
    {.variant = "slow",
     .size = 8,
     .samples = 2,
     .batch = 1,
     .estimate = Estimate{.median = 2e-3, .relative_half_width = std::nullopt}},
    {.variant = "fast",
     .size = 16,
     .samples = 6,
     .batch = 1,
     .estimate = Estimate{.median = 2e-6, .relative_half_width = 0.3}},
    {.variant = "slow", .size = 16, .status = Status::bounded},
};

TEST(Point, TableSaysWhatIsPreciseWhatIsNotAndWhatIsMissing) {
  EXPECT_EQ(median_table({"fast", "slow", "other"}, results, 10),
            "    bytes      fast      slow     other \n"
            "        8     1.500  2000.000*        - \n"
            "       16     2.000*  bounded         - \n");
}

TEST(Point, RecordHasNullForWhatIsNotKnown) {
  EXPECT_EQ(point_record("c", results[0]).dump(),
            R"({"case":"c","variant":"fast","size_bytes":8,"samples":7,"batch":3,)"
            R"("median_s":1.5e-06,"ci_relative_half_width":0.01,"status":"converged",)"
            R"("verified":true})");
  const auto left_out = point_record("c", results[3]);
  EXPECT_TRUE(left_out["median_s"].is_null());
  EXPECT_EQ(left_out["status"].get<std::string>(), "bounded");
  EXPECT_FALSE(left_out["verified"].get<bool>());
  EXPECT_TRUE(point_record("c", results[1])["ci_relative_half_width"].is_null());
}

}  // namespace
}  // namespace roundtrip
