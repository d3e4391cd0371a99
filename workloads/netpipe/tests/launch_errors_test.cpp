#include <gtest/gtest.h>

#include "netpipe/tests/launch.hpp"

namespace roundtrip::netpipe {
namespace {

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

/// A transport that is right while it is checked and wrong while it is timed.
TEST_F(Launch, WrongDataOfTheTimedMessages) {
  const std::string flags = "--variants corrupt-late --mode stream --end 1 --perturbation 0";
  const Ended ended = run(2, flags, NETPIPE_FAULTY);
  EXPECT_EQ(ended.code, 3);
  EXPECT_NE(ended.err.find("wrong data: variant corrupt-late, size 1 bytes, element 0"),
            std::string::npos)
      << ended.err;
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
  EXPECT_EQ(occurrences(version.out, "netpipe 1."), 1U);
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
}  // namespace roundtrip::netpipe
