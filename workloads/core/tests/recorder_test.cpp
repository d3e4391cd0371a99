#include "core/recorder.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <sstream>

namespace roundtrip {
namespace {

SeriesKey key(const std::string& variant, std::int64_t size) {
  return {.study = "netpipe",
          .case_name = "pingpong/same",
          .variant = variant,
          .size_bytes = size,
          .phase = "measure",
          .metric = metrics::half_round_trip_time};
}

TEST(Recorder, WritesHeaderColumnsAndRows) {
  Recorder recorder;
  auto& first = recorder.open(key("mpi", 1));
  recorder.open(key("boost", 8)).push_back(0.5);
  first.push_back(0.25);
  first.push_back(2.5e-7);
  EXPECT_EQ(recorder.rows(), 3U);
  EXPECT_EQ(recorder.csv({{"schema", 1}, {"command", {"a", "b\nc"}}}),
            "# schema: 1\n"
            "# command: [\"a\",\"b\\nc\"]\n"
            "study,case,variant,size_bytes,phase,rep,metric,value,unit\n"
            "netpipe,pingpong/same,mpi,1,measure,0,half_round_trip_time,0.25,s\n"
            "netpipe,pingpong/same,mpi,1,measure,1,half_round_trip_time,2.5e-07,s\n"
            "netpipe,pingpong/same,boost,8,measure,0,half_round_trip_time,0.5,s\n");
}

TEST(Recorder, ReplacesWhatIsNotUtf8) {
  const std::string text = Recorder().csv({{"command", {"a\xff"}}});
  EXPECT_TRUE(text.starts_with("# command: [\"a\xef\xbf\xbd\"]\n")) << text;
}

TEST(Recorder, NumbersReadBackTheSame) {
  Recorder recorder;
  auto& samples = recorder.open(key("mpi", 1));
  for (int power = 0; power < 20; ++power) samples.push_back(1e-9 / 3 * std::pow(3.1415926, power));
  std::istringstream lines(recorder.csv({}));
  std::string line;
  std::getline(lines, line);
  for (const double expected : samples) {
    ASSERT_TRUE(std::getline(lines, line));
    const std::string before = "half_round_trip_time,";
    EXPECT_EQ(std::strtod(line.c_str() + line.find(before) + before.size(), nullptr), expected);
  }
}

TEST(Recorder, SealsTheTextAndCountsEachSeriesThatHasSamples) {
  Recorder recorder;
  recorder.open(key("mpi", 1)) = {0.25, 0.5};
  recorder.open(key("mpi", 2));
  recorder.open(key("boost", 8)) = {0.5};
  const nlohmann::ordered_json seal = recorder.seal("abc");
  EXPECT_EQ(seal["rows"], 3);
  EXPECT_EQ(seal["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  ASSERT_EQ(seal["counts"].size(), 2U);
  EXPECT_EQ(seal["counts"][0].dump(),
            R"({"case":"pingpong/same","variant":"mpi","size_bytes":1,"phase":"measure",)"
            R"("metric":"half_round_trip_time","samples":2})");
  EXPECT_EQ(seal["counts"][1]["samples"], 1);
}

TEST(Recorder, QuotesWhatWouldBreakARow) {
  EXPECT_EQ(csv_field("plain/text"), "plain/text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"so\""), "\"say \"\"so\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
}

}  // namespace
}  // namespace roundtrip
