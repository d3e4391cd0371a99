#include <gtest/gtest.h>

#include "netpipe/tests/launch.hpp"

namespace roundtrip::netpipe {
namespace {

TEST_F(Launch, WritesWhatItMeasured) {
  // Six samples reach a precision of 100 % unless one differs from the median by more than that.
  const Ended ended = run(
      2, "--samples samples.csv --budget 20 --end 4096 --perturbation 0 --precision 100 --seed 9");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(ended.out.ends_with("\nROUNDTRIP COMPLETE ranks=2 hosts=1\n")) << ended.out;
  const json record = json::parse(text_of(in("run.json")));
  expect_consistent_files(record);
  EXPECT_EQ(record.at("schema"), 1);
  EXPECT_EQ(record.at("workload"), "netpipe");
  EXPECT_EQ(record.at("ranks"), 2);
  EXPECT_EQ(record.at("seed"), 9);
  EXPECT_EQ(record.at("placement").size(), 2U);
  EXPECT_EQ(record.at("disturbance").at("involuntary_context_switches").size(), 2U);
  EXPECT_GT(record.at("warmup_discarded"), 0);
  EXPECT_GT(record.at("clock").at("resolution_s"), 0.0);
  std::set<std::string> variants;
  std::set<long> sizes;
  for (const json& point : record.at("points")) {
    variants.insert(point.at("variant").get<std::string>());
    sizes.insert(point.at("size_bytes").get<long>());
    EXPECT_EQ(point.at("case"), "pingpong/same");
  }
  EXPECT_EQ(variants, (std::set<std::string>{"mpi", "boost", "mpi-datatype", "boost-datatype",
                                             "boost-serialized"}));
  // The number of measured sizes depends on the time.
  const std::set<long> schedule = {1,  2,   3,   4,   6,   8,   12,  16,   24,   32,   48,   64,
                                   96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};
  EXPECT_TRUE(std::ranges::includes(schedule, sizes));
}

TEST_F(Launch, ArgumentsNeedNotBeUtf8) {
  fs::create_directory(in("\xff"));
  const Ended ended = run(2, "--samples \xff/samples.csv --variants mpi --end 1 --budget 0.5");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json record = json::parse(text_of(in("\xff/run.json")));
  EXPECT_EQ(record.at("command").at(2), "\xef\xbf\xbd/samples.csv");
}

TEST_F(Launch, TakesTheWholeRangeCoarselyBeforeItLooksCloser) {
  const Ended ended =
      run(2, "--samples samples.csv --variants mpi --budget 12 --precision 100 --end 1048576");
  ASSERT_EQ(ended.code, 0) << ended.err;
  expect_consistent_files(json::parse(text_of(in("run.json"))));
  std::istringstream lines(text_of(in("samples.csv")));
  std::vector<long> sizes;  // in the order in which they were first measured
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("netpipe,")) continue;
    std::istringstream row(line);
    std::string field;
    for (int i = 0; i < 4; ++i) std::getline(row, field, ',');
    if (std::ranges::count(sizes, std::stol(field)) == 0) sizes.push_back(std::stol(field));
  }
  const std::set<long> grid = {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576};
  sizes.resize(std::min(sizes.size(), grid.size()));
  ASSERT_GE(sizes.size(), 2U);
  for (const long size : sizes) EXPECT_TRUE(grid.contains(size)) << size;
  EXPECT_EQ(sizes[0], 1);
  EXPECT_EQ(sizes[1], 1048576);
}

class Modes : public Launch,
              public testing::WithParamInterface<std::tuple<std::string, std::string>> {};

TEST_P(Modes, VerifyAndComplete) {
  const auto [mode, buffers] = GetParam();
  const Ended ended = run(2,
                          "--samples samples.csv --budget 10 --start 1000 --end 200000 "
                          "--perturbation 0 --precision 100 --mode " +
                              mode + " --buffers " + buffers);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json record = json::parse(text_of(in("run.json")));
  expect_consistent_files(record);
  const std::string metric = mode == "stream" ? ",time_per_message," : ",half_round_trip_time,";
  EXPECT_EQ(occurrences(text_of(in("samples.csv")), metric), record.at("samples").at("rows"));
  EXPECT_EQ(record.at("points").at(0).at("case"), mode + '/' + buffers);
}

INSTANTIATE_TEST_SUITE_P(All, Modes,
                         testing::Combine(testing::Values("pingpong", "stream", "bidirectional"),
                                          testing::Values("same", "no-cache")));

TEST_F(Launch, BoundsSlowVariantsAndSaysSo) {
  const Ended ended = run(2,
                          "--samples samples.csv --budget 1 --start 1048576 --end 8388608 "
                          "--perturbation 0 --variants mpi,boost-serialized");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json record = json::parse(text_of(in("run.json")));
  expect_consistent_files(record);
  std::map<std::string, std::size_t> left_out;
  for (const json& point : record.at("points")) {
    if (point.at("samples") == 0) {
      EXPECT_NE(point.at("status"), "converged");
      ++left_out[point.at("variant")];
    }
  }
  EXPECT_GE(left_out["boost-serialized"], 1U);
}

TEST_F(Launch, WithoutTimeItSaysSo) {
  const Ended ended = run(2, "--samples samples.csv --budget 1e-6");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json record = json::parse(text_of(in("run.json")));
  expect_consistent_files(record);
  ASSERT_EQ(record.at("points").size(), 5U);
  for (const json& point : record.at("points")) {
    EXPECT_EQ(point.at("samples"), 0);
    EXPECT_EQ(point.at("status"), "budget");
    EXPECT_EQ(point.at("size_bytes"), 1);
  }
}

TEST_F(Launch, MoreThanTwoRanks) {
  const Ended ended = run(3, "--samples samples.csv --budget 10 --end 64 --precision 100");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(ended.out.ends_with("\nROUNDTRIP COMPLETE ranks=3 hosts=1\n")) << ended.out;
  const json record = json::parse(text_of(in("run.json")));
  expect_consistent_files(record);
  EXPECT_EQ(record.at("placement").size(), 3U);
}

/// Long messages: a trial repeats short ones as often as fits 0.1 s at their best time, which may
/// take minutes on a busy machine.
TEST_F(Launch, ExactPrintsNetPipesColumns) {
  const Ended ended = run(2, "--exact boost --start 4194304 --end 6291456");
  ASSERT_EQ(ended.code, 0) << ended.err;
  std::istringstream lines(ended.out);
  for (const long expected : {4194301, 4194304, 4194307, 6291453, 6291456, 6291459}) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    long bytes = 0;
    double megabits = 0;
    double seconds = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%8ld %lf %12lf", &bytes, &megabits, &seconds), 3) << line;
    EXPECT_EQ(bytes, expected);
    std::array<char, 80> again{};
    std::snprintf(again.data(), again.size(), "%8ld %f %12.8f", bytes, megabits, seconds);
    EXPECT_EQ(line, again.data());
    // The seconds are printed to 1e-8.
    EXPECT_NEAR(static_cast<double>(bytes) * 8 / megabits / (1024 * 1024), seconds, 0.51e-8);
  }
  std::string last;
  std::getline(lines, last);
  EXPECT_EQ(last, "ROUNDTRIP COMPLETE ranks=2 hosts=1");
}

}  // namespace
}  // namespace roundtrip::netpipe
