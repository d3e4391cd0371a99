#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

/// Launches in a folder of their own. Timings are never looked at.
class Launch : public testing::Test {
 public:
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

 protected:
  Launch() {
    // As root, and with more ranks than cores: Open MPI wants to be told (4.x, then 5.x).
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                             "OMPI_MCA_rmaps_base_oversubscribe"}) {
      setenv(name, "1", 1);
    }
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
    std::string name = (fs::temp_directory_path() / "launch_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Launch() override { fs::remove_all(folder_); }

  [[nodiscard]] Ended run(int ranks, const std::string& flags,
                          const std::string& program = NETPIPE) const {
    const std::string command = "cd " + folder_.string() + " && timeout 280 " MPIRUN " -n " +
                                std::to_string(ranks) + ' ' + program + ' ' + flags +
                                " > out 2> err";
    const int status = std::system(command.c_str());
    return {.code = WEXITSTATUS(status), .out = text_of(in("out")), .err = text_of(in("err"))};
  }

  [[nodiscard]] fs::path in(const std::string& name) const { return folder_ / name; }

  /// Bad usage: this one line from one rank, no end marker, exit status 2.
  void expect_usage_error(const Ended& ended, const std::string& line) const {
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(occurrences(ended.err, "netpipe: " + line + '\n'), 1U) << ended.err;
    EXPECT_EQ(occurrences(ended.err, "netpipe: "), 1U) << ended.err;
    EXPECT_EQ(ended.out.find("ROUNDTRIP COMPLETE"), std::string::npos);
  }

  /// Run record and samples, held against each other.
  void expect_consistent_files(const json& record) const {
    std::istringstream lines(text_of(in("samples.csv")));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "# schema: 1");
    while (std::getline(lines, line) && line.starts_with("# ")) {
      EXPECT_TRUE(json::accept(line.substr(line.find(": ") + 2))) << line;
    }
    EXPECT_EQ(line, "study,case,variant,size_bytes,phase,rep,metric,value,unit");
    std::map<std::pair<std::string, long>, std::size_t> count;
    std::size_t rows = 0;
    for (; std::getline(lines, line); ++rows) {
      std::vector<std::string> fields;
      std::istringstream row(line);
      for (std::string field; std::getline(row, field, ',');) fields.push_back(field);
      ASSERT_EQ(fields.size(), 9U) << line;
      EXPECT_EQ(fields[0], "netpipe");
      EXPECT_EQ(fields[4], "measure");
      const double value = std::stod(fields[7]);
      EXPECT_TRUE(std::isfinite(value) && value > 0) << line;
      auto& samples = count[{fields[2], std::stol(fields[3])}];
      EXPECT_EQ(std::stoul(fields[5]), samples) << line;
      ++samples;
    }
    EXPECT_EQ(record.at("samples").at("rows"), rows);
    EXPECT_EQ(record.at("complete"), true);
    std::size_t sum = 0;
    for (const json& point : record.at("points")) {
      const std::size_t samples = point.at("samples");
      sum += samples;
      const auto found = count.find({point.at("variant"), point.at("size_bytes")});
      EXPECT_EQ(samples, found == count.end() ? 0 : found->second) << point;
      EXPECT_EQ(point.at("verified"), samples > 0) << point;
      if (point.at("status") == "converged") {
        EXPECT_LE(point.at("ci_relative_half_width").get<double>(), 1.0) << point;
      }
    }
    EXPECT_EQ(sum, rows);
  }

 private:
  fs::path folder_;
};

TEST_F(Launch, WritesWhatItMeasured) {
  // A precision that six samples reach unless they differ by more than their size.
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
  // How far it came is a matter of time; that it left no size out before is not.
  const std::vector<long> schedule = {1,   2,   3,   4,    6,    8,    12,   16,
                                      24,  32,  48,  64,   96,   128,  192,  256,
                                      384, 512, 768, 1024, 1536, 2048, 3072, 4096};
  ASSERT_LE(sizes.size(), schedule.size());
  EXPECT_TRUE(std::equal(sizes.begin(), sizes.end(), schedule.begin()));
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
  EXPECT_EQ(left_out["boost-serialized"], 1U);
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

/// Of long messages: the rule asks for as many short ones as took 0.1 s at the best moment, which
/// on a busy machine may take minutes.
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

TEST_F(Launch, WrongDataNamesVariantSizeAndElement) {
  for (const std::string side : {"there", "back"}) {
    const std::string end = side == "there" ? "receiver" : "transmitter";
    const Ended ended = run(2,
                            "--samples samples.csv --perturbation 0 --precision 100 "
                            "--variants mpi,corrupt-" +
                                side,
                            NETPIPE_FAULTY);
    EXPECT_EQ(ended.code, 3);
    EXPECT_NE(ended.err.find("netpipe: wrong data: variant corrupt-" + side +
                             ", size 65536 bytes, element 300 at the " + end),
              std::string::npos)
        << ended.err;
    EXPECT_EQ(ended.out.find("ROUNDTRIP COMPLETE"), std::string::npos);
    EXPECT_FALSE(fs::exists(in("samples.csv")));
    EXPECT_FALSE(fs::exists(in("run.json")));
  }
}

TEST_F(Launch, WrongDataWithIdleRanksAndInEveryMode) {
  for (const std::string flags :
       {"--variants corrupt-there --mode stream", "--variants corrupt-there --mode bidirectional",
        "--variants corrupt-there --buffers no-cache", "--exact corrupt-there"}) {
    const Ended ended = run(3, flags + " --start 1048576 --end 1048576", NETPIPE_FAULTY);
    EXPECT_EQ(ended.code, 3) << flags;
    EXPECT_NE(ended.err.find("wrong data: variant corrupt-there"), std::string::npos) << flags;
  }
}

TEST_F(Launch, BadFlags) {
  expect_usage_error(run(2, "--bogus"), "The following argument was not expected: --bogus");
  expect_usage_error(run(2, "--mode sideways"),
                     "--mode: sideways not in {bidirectional,pingpong,stream}");
  expect_usage_error(run(2, "--variants mpi,mpi"), "--variants: mpi is named twice");
  expect_usage_error(run(2, "--end 0"), "--end: must not be smaller than --start");
  expect_usage_error(run(2, "--end 2147483647"),
                     "--end: an MPI message holds at most 2147483647 bytes");
  expect_usage_error(run(2, "--budget nan"), "--budget: must be a positive number of seconds");
  expect_usage_error(run(2, "--precision 0"), "--precision: must be a positive percentage");
  expect_usage_error(run(2, "--exact nothing"), "--exact: no variant nothing");
  expect_usage_error(run(2, "--exact --samples x.csv"), "--samples excludes --exact");
}

TEST_F(Launch, TooFewRanks) {
  expect_usage_error(run(1, ""), "needs at least 2 ranks, started with 1");
}

TEST_F(Launch, HelpAndVersionComeOnce) {
  const Ended help = run(2, "--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(occurrences(help.out, "Usage: netpipe"), 1U);
  const Ended version = run(1, "--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(occurrences(version.out, "netpipe 0."), 1U);
}

TEST_F(Launch, AFolderThatIsNotThere) {
  expect_usage_error(run(2, "--samples none/samples.csv"),
                     "cannot write none/samples.csv: No such file or directory");
}

/// The check before measuring passes; the disk is full when the samples are to be written.
TEST_F(Launch, AFullDiskLeavesNoFiles) {
  std::ofstream(in("samples.csv")) << "of an earlier launch";
  std::ofstream(in("run.json")) << "of an earlier launch";
  const Ended ended = run(2,
                          "--samples samples.csv --budget 2 --end 64 --precision 0.001 "
                          "--variants full-disk",
                          NETPIPE_FAULTY);
  expect_usage_error(ended, "cannot write samples.csv: File too large");
  EXPECT_FALSE(fs::exists(in("samples.csv")));
  EXPECT_FALSE(fs::exists(in("samples.csv.partial")));
  EXPECT_FALSE(fs::exists(in("run.json")));
}

}  // namespace
