#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "core/testing/launch.hpp"

namespace roundtrip::npb {
namespace {

/// A corrupted element of a message, in a run that may still pass the specification's test. The
/// receiver reads the element; some, in corners of ghosts, are never read.
struct Fault {
  const char* benchmark;
  int ranks;
  const char* call;
  int number;
  const char* change;  ///< factor and summand
};

class Spoiled : public LaunchTest, public testing::WithParamInterface<Fault> {
 protected:
  [[nodiscard]] Ended run(const Fault& fault, const std::string& flags = "") const {
    // The last rank, because the first one reports the results.
    const std::string text = std::to_string(fault.ranks - 1) + ' ' + fault.call + ' ' +
                             std::to_string(fault.number) + ' ' + fault.change;
    setenv("NPB_FAULT", text.c_str(), 1);
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
    constexpr int longest_s = 200;
    return run_line(shell_line(
        fault.ranks, NPB_FAULTY,
        std::string("--class S --samples samples.csv --benchmark ") + fault.benchmark + ' ' + flags,
        longest_s));
  }
};

TEST_P(Spoiled, IsFoundByItsHistory) {
  const Ended ended = run(GetParam());
  EXPECT_EQ(ended.code, 3) << ended.out << ended.err;
  EXPECT_NE(ended.out.find("History: deviates at iteration "), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("ROUNDTRIP COMPLETE"), std::string::npos);
  EXPECT_FALSE(fs::exists(in("run.json")));
}

std::string name_of(const testing::TestParamInfo<Fault>& info) {
  const Fault& fault = info.param;
  return std::string(fault.benchmark) + '_' + std::to_string(fault.ranks) + '_' +
         std::to_string(fault.number);
}

INSTANTIATE_TEST_SUITE_P(
    Message, Spoiled,
    testing::Values(
        Fault{"CG", 2, "Send", 200, "1001 0"}, Fault{"CG", 2, "Send", 650, "1001 0"},
        Fault{"CG", 4, "Send", 402, "1001 0"}, Fault{"CG", 4, "Send", 900, "1001 0"},
        Fault{"IS", 2, "Alltoallv", 3, "1 1"}, Fault{"IS", 4, "Alltoallv", 8, "1 1"},
        Fault{"IS", 2, "Alltoallv", 4, "1 1000000000"},
        Fault{"IS", 4, "Alltoallv", 9, "1 -1000000000"}, Fault{"LU", 2, "Send", 130, "1.000001 0"},
        Fault{"LU", 2, "Send", 400, "1.000001 0"}, Fault{"LU", 4, "Send", 250, "1.000001 0"},
        Fault{"LU", 4, "Send", 700, "1.000001 0"}, Fault{"MG", 2, "Send", 40, "2 0"},
        Fault{"MG", 2, "Send", 70, "2 0"}, Fault{"MG", 4, "Send", 50, "2 0"},
        Fault{"FT", 2, "Alltoall", 3, "1.000001 0"}, Fault{"FT", 4, "Alltoall", 5, "1.000001 0"},
        Fault{"BT", 4, "Send", 301, "1.0001 0"}, Fault{"BT", 4, "Send", 700, "1.0001 0"},
        Fault{"SP", 4, "Send", 500, "1.01 0"}, Fault{"SP", 4, "Send", 1201, "1.01 0"}),
    name_of);

class Sound : public Spoiled {};

/// The same program with a fault that changes nothing.
TEST_P(Sound, IsVerifiedInBothWays) {
  const Ended ended = run(GetParam());
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_NE(ended.out.find("History: agrees"), std::string::npos) << ended.out;
  const auto record = nlohmann::json::parse(text_of(in("run.json")));
  EXPECT_EQ(record["npb"]["verification"]["specification"], true);
  EXPECT_EQ(record["npb"]["verification"]["history"], "agrees");
}

INSTANTIATE_TEST_SUITE_P(Message, Sound,
                         testing::Values(Fault{"CG", 4, "Send", 200, "1 0"},
                                         Fault{"IS", 4, "Alltoallv", 3, "1 0"},
                                         Fault{"EP", 2, "Send", 0, "1 0"}),
                         name_of);

/// A run that passes the specification's test is verified if only that test is requested.
TEST_F(Spoiled, ByTheSpecificationAlonePasses) {
  const Ended ended = run({"CG", 2, "Send", 200, "1001 0"}, "--verification specification");
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_NE(ended.out.find("History: not compared"), std::string::npos);
}

/// A key that no rank owns fails the verification, whatever the ranks of the other keys are.
TEST_F(Spoiled, KeyOutOfRangeFailsBySpecificationToo) {
  for (const int ranking : {4, 9}) {
    const Ended ended =
        run({"IS", 2, "Alltoallv", ranking, "1 1000000000"}, "--verification specification");
    EXPECT_EQ(ended.code, 3) << ended.out << ended.err;
    EXPECT_NE(ended.out.find("UNSUCCESSFUL"), std::string::npos) << ended.out;
  }
}

}  // namespace
}  // namespace roundtrip::npb
