#include "netpipe/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "core/survey_order.hpp"

namespace roundtrip::netpipe {
namespace {

struct RecordedPoint {
  std::int64_t size = 0;
  double megabits = 0;  ///< 2^20 bit/s

  [[nodiscard]] double one_way_s() const {
    return static_cast<double>(size) * 8 / (megabits * 1024 * 1024);
  }
};

std::vector<RecordedPoint> recorded(const std::string& name) {
  std::ifstream file(std::string(RECORDED_FOLDER) + '/' + name);
  std::vector<RecordedPoint> points;
  RecordedPoint point;
  double seconds = 0;
  while (file >> point.size >> point.megabits >> seconds) points.push_back(point);
  return points;
}

std::vector<std::int64_t> sizes(const ScheduleRange& range) {
  std::vector<std::int64_t> all;
  for (const SizePoint& point : size_schedule(range)) all.push_back(point.size);
  return all;
}

std::vector<std::int64_t> recorded_sizes(const std::vector<RecordedPoint>& points) {
  std::vector<std::int64_t> all;
  all.reserve(points.size());
  for (const RecordedPoint& point : points) all.push_back(point.size);
  return all;
}

TEST(Schedule, IsThatOfTheRecordedRuns) {
  const auto full = recorded("NPopenmpi-4.1.4.full.out");
  ASSERT_EQ(full.size(), 124U);
  EXPECT_EQ(sizes({.end = 10'000'000}), recorded_sizes(full));

  const auto upto_1mib = recorded("NPpvm-3.4.6.upto1MiB.out");
  ASSERT_EQ(upto_1mib.size(), 106U);
  EXPECT_EQ(sizes({.end = 1 << 20}), recorded_sizes(upto_1mib));
}

TEST(Schedule, WithoutPerturbation) {
  const auto all = sizes({.perturbation = 0});
  EXPECT_EQ(all.size(), 46U);
  EXPECT_EQ(std::vector(all.begin(), all.begin() + 9),
            (std::vector<std::int64_t>{1, 2, 3, 4, 6, 8, 12, 16, 24}));
  EXPECT_EQ(all.back(), 8'388'608);
}

TEST(Schedule, TheEndBoundsTheCentre) {
  EXPECT_EQ(sizes({.start = 1, .end = 1}), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(sizes({.end = 64}).back(), 67);
  EXPECT_EQ(sizes({.end = 63}).back(), 51);
}

TEST(Schedule, AnotherStart) {
  EXPECT_EQ(sizes({.start = 100, .end = 200, .perturbation = 0}),
            (std::vector<std::int64_t>{100, 150, 200}));
}

TEST(Schedule, ItsCentresHoldWhatReportsCompare) {
  for (const std::int64_t perturbation : {0, 3}) {
    for (const std::int64_t end : {1'048'576, 2'097'152, 8'388'608}) {
      const auto points = size_schedule({.end = end, .perturbation = perturbation});
      const auto order = survey_order(sizes({.end = end, .perturbation = perturbation}),
                                      [&](std::size_t i) { return points[i].is_centre(); });
      std::vector<std::int64_t> grid;
      for (const std::size_t place : order.coarse) grid.push_back(points[place].size);
      EXPECT_EQ(grid[0], 1);
      EXPECT_EQ(grid[1], end);
      for (const std::int64_t compared : {1, 64, 1024, 16384, 65536, 1048576}) {
        EXPECT_EQ(std::ranges::count(grid, compared), 1) << compared;
      }
      EXPECT_EQ(order.coarse.size() + order.fine.size(), points.size());
      EXPECT_LT(grid.size(), 15U);
    }
  }
}

TEST(Repeats, AreThoseOfTheRecordedRun) {
  const auto points = recorded("NPopenmpi-4.1.4.full.out");
  const auto schedule = size_schedule({.end = 10'000'000});
  std::ifstream file(std::string(RECORDED_FOLDER) + "/NPopenmpi-4.1.4.full.stderr.txt");
  std::size_t compared = 0;
  for (std::string line; std::getline(file, line);) {
    std::size_t index = 0;
    long long size = 0;
    long long times = 0;
    if (std::sscanf(line.c_str(), "%zu: %lld bytes %lld times", &index, &size, &times) != 3)
      continue;
    if (index == 0) continue;  // follows the unreported warm-up
    ASSERT_EQ(size, points.at(index).size);
    const auto expected = static_cast<double>(times);
    const RecordedPoint& before = points.at(index - 1);
    EXPECT_NEAR(
        static_cast<double>(repeats(before.size, schedule.at(index).increment, before.one_way_s())),
        expected, 0.05 * expected + 1)
        << line;
    ++compared;
  }
  EXPECT_EQ(compared, 123U);
}

TEST(Repeats, AreAtLeastThree) {
  EXPECT_EQ(repeats(1, 1, 10.0), 3);
  EXPECT_EQ(repeats(1, 1, 4.16527e-6), 24'008);
}

}  // namespace
}  // namespace roundtrip::netpipe
