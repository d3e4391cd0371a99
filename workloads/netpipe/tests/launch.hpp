#pragma once

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

namespace roundtrip::netpipe {

namespace fs = std::filesystem;
using nlohmann::json;

inline std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::size_t occurrences(const std::string& text, const std::string& part) {
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

}  // namespace roundtrip::netpipe
