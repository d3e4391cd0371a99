#include "core/timing_facts.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace roundtrip {
namespace {

TEST(TimingFacts, TellsWhatIsTheSameAndWhereThereAreSeveral) {
  nlohmann::ordered_json record;
  record_timing(record, {.synchronisation = "barrier", .cache = ""});
  EXPECT_EQ(record["timing"].dump(),
            R"({"clock":"one rank","synchronisation":"barrier","over_ranks":"one rank"})");
  record_timing(record, {.synchronisation = "message", .cache = "flushed"});
  record_timing(record, {.synchronisation = "barrier", .cache = "flushed"});
  EXPECT_EQ(
      record["timing"].dump(),
      R"({"clock":"one rank","synchronisation":"several","over_ranks":"one rank","cache":"flushed"})");
}

}  // namespace
}  // namespace roundtrip
