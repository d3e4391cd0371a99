#include "core/counters.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace roundtrip {
namespace {

constexpr const char* status =
    "Name:\tnetpipe\nTracerPid:\t812\nThreads:\t3\nvoluntary_ctxt_switches:\t151\n"
    "nonvoluntary_ctxt_switches:\t42\n";
constexpr const char* sched =
    "netpipe (4711, #threads: 3)\n"
    "-------------------------------------------------------------------\n"
    "se.exec_start                                :       1180733.283812\n"
    "se.nr_migrations                             :                    7\n"
    "nr_switches                                  :                  193\n";
constexpr const char* stat =
    "cpu  7810 0 2565 205228 499 0 194 150 0 0\n"
    "cpu0 804 0 570 106692 40 0 24 50 0 0\n";

TEST(Counters, ReadsTheKernelsFiles) {
  const Counters counters =
      parse_counters({.status = status,
                      .sched = sched,
                      .stat = stat,
                      .loadavg = "0.08 1.50 4.00 2/77 4711\n",
                      .cpu_stats = {"throttled_usec 1500000\n", "usage_usec 7\n"}},
                     100);
  EXPECT_EQ(counters.involuntary_context_switches, 42);
  EXPECT_EQ(counters.voluntary_context_switches, 151);
  EXPECT_EQ(counters.core_migrations, 7);
  EXPECT_EQ(counters.tracer, 812);
  EXPECT_EQ(counters.throttled_s, (std::vector<std::optional<double>>{1.5, std::nullopt}));
  EXPECT_DOUBLE_EQ(counters.steal_s.value(), 1.5);
  EXPECT_EQ(counters.load_average.value(), (std::array<double, 3>{0.08, 1.5, 4.0}));
}

TEST(Counters, TellsWhatTheKernelDoesNotSay) {
  const Counters none = parse_counters({}, 100);
  EXPECT_FALSE(none.involuntary_context_switches);
  EXPECT_FALSE(none.core_migrations);
  EXPECT_FALSE(none.steal_s);
  EXPECT_FALSE(none.load_average);

  const Counters cut = parse_counters({.status = "nonvoluntary_ctxt_switches:\n",
                                       .sched = "se.nr_migrations : many\n",
                                       .stat = "cpu  7810 0 2565 205228\n",
                                       .loadavg = "0.08"},
                                      100);
  EXPECT_FALSE(cut.involuntary_context_switches);
  EXPECT_FALSE(cut.core_migrations);
  EXPECT_FALSE(cut.steal_s);
  EXPECT_FALSE(cut.load_average);
}

TEST(Counters, ReadsThisMachine) {
  EXPECT_TRUE(read_counters().involuntary_context_switches);
  EXPECT_TRUE(read_counters().voluntary_context_switches);
  EXPECT_TRUE(read_counters().load_average);
  EXPECT_GE(waited_s().value_or(0), 0);
}

TEST(RankWatch, CountsSinceItBegan) {
  const RankWatch watch;
  const double end = read_clock(CLOCK_MONOTONIC) + 0.02;
  while (read_clock(CLOCK_MONOTONIC) < end) {
  }
  const auto record = watch.record();
  EXPECT_GE(record["duration_s"].get<double>(), 0.02);
  EXPECT_GT(record["cpu_s"].get<double>(), 0);
  EXPECT_LE(record["cpu_s"].get<double>(), record["duration_s"].get<double>() + 0.01);
  EXPECT_EQ(record["tracer"], 0);
}

}  // namespace
}  // namespace roundtrip
