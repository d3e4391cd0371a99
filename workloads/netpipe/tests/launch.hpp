#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/testing/launch.hpp"

namespace roundtrip::netpipe {

using nlohmann::json;

inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class Launch : public LaunchTest {
 protected:
  [[nodiscard]] Ended run(int ranks, const std::string& flags,
                          const std::string& program = NETPIPE) const {
    constexpr int longest_s = 280;
    return run_line(shell_line(ranks, program, flags, longest_s));
  }

  /// Bad usage: this one line from one rank, no end marker, exit status 2.
  void expect_usage_error(const Ended& ended, const std::string& line) const {
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(occurrences(ended.err, "netpipe: " + line + '\n'), 1U) << ended.err;
    EXPECT_EQ(occurrences(ended.err, "netpipe: "), 1U) << ended.err;
    EXPECT_EQ(ended.out.find("ROUNDTRIP COMPLETE"), std::string::npos);
  }

  /// Compares run record and samples.
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
};

}  // namespace roundtrip::netpipe
