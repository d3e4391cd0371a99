// Whole launches under mpirun. Timings are not checked.
#include <algorithm>

#include "ring/tests/launch.hpp"

namespace roundtrip::ring {
namespace {

TEST_F(RingLaunch, MeasuresEveryTransportAndRecordsIt) {
  const Ended ended = run(2, "--budget 1 --end 10");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(ended.out, "ROUNDTRIP COMPLETE ranks=2 hosts=1\n"));
  const std::string samples = text_of(in("samples.csv"));
  for (const char* name :
       {"cache-line", "region", "mpi", "mpi-sync", "mpi-typed", "mpi-rma", "mpi-shm"}) {
    const std::string key = std::string("\nring,2,") + name + ",10,measure,5,time_per_pass,";
    EXPECT_TRUE(has(samples, key)) << key;
  }
  const std::string record = text_of(in("run.json"));
  EXPECT_TRUE(has(record, "\"tokens\": 1"));
  EXPECT_TRUE(has(record, "\"copies\": 0"));
  EXPECT_TRUE(has(record, "\"complete\": true"));
}

TEST_F(RingLaunch, ReadsEveryByteInArmsOfTheirOwnWhereMemoryIsShared) {
  const Ended ended = run(3,
                          "--budget 60 --precision 100 --start 1000 --end 10003 "
                          "--transports region,mpi,mpi-rma");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::string samples = text_of(in("samples.csv"));
  for (const char* name : {"region", "region-read", "mpi", "mpi-read", "mpi-rma"}) {
    for (const char* size : {"1000", "10000", "10003"}) {
      const std::string key =
          std::string("\nring,3,") + name + ',' + size + ",measure,5,time_per_pass,";
      EXPECT_TRUE(has(samples, key)) << key;
    }
  }
  EXPECT_FALSE(has(samples, ",mpi-rma-read,"));
  EXPECT_FALSE(has(samples, ",region-read,1000,laps,"));
  const Ended apart = run(2, "--budget 1 --end 10 --transports mpi --pretend-nodes 0,1");
  ASSERT_EQ(apart.code, 0) << apart.err;
  EXPECT_FALSE(has(text_of(in("samples.csv")), "-read,"));
}

TEST_F(RingLaunch, TakesAllSizesBeforeItLooksCloser) {
  const Ended ended = run(2, "--budget 2 --end 10000 --transports region,mpi");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::string samples = text_of(in("samples.csv"));
  for (const char* size : {"10", "100", "1000", "10000"}) {
    const std::string key = std::string("\nring,2,region,") + size + ",measure,5,";
    EXPECT_TRUE(has(samples, key)) << key;
  }
  // Series are in the file in the order of their start.
  EXPECT_GT(samples.find(",laps,0,"), samples.rfind(",measure,0,"));
}

TEST_F(RingLaunch, MixesMemoryAndMessagesAndMoreRanksThanProcessors) {
  const Ended ended = run(3,
                          "--budget 1 --start 100000 --end 100000 --pretend-nodes 0,0,1 "
                          "--transports region,mpi,mpi-shm");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(text_of(in("samples.csv")), "\nring,pretended 2+1,region,100000,measure,5,"));
  EXPECT_TRUE(has(ended.out, "skipped: mpi-shm: needs all ranks in one node, they are 2+1"));
  const std::string record = text_of(in("run.json"));
  EXPECT_TRUE(has(record, "\"shared\": 1,\n   \"network\": 2"));
}

TEST_F(RingLaunch, SendsRegionsByDatagramsInPiecesThatFitAFrame) {
  const Ended ended = run(3,
                          "--budget 1 --start 100000 --end 1000000 --pretend-nodes 0,0,1 "
                          "--transports region-udp --interface lo");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(text_of(in("samples.csv")), "\nring,pretended 2+1,region-udp,100000,measure,5,"));
  EXPECT_TRUE(has(text_of(in("run.json")), "\"interface\": \"lo\""));
}

TEST_F(RingLaunch, ThreeRanksOnTwoProcessorsDoNotCollapse) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs two processors";
  // Start and end would dominate a batch of one lap. One good launch of three is enough: other
  // processes may use both processors.
  int largest = 0;
  for (int attempt = 0; attempt < 3 && largest <= 1; ++attempt) {
    const Ended ended =
        run(3, "--budget 1 --end 10 --processors 2 --transports cache-line,region,mpi-shm");
    ASSERT_EQ(ended.code, 0) << ended.err;
    const auto record = nlohmann::json::parse(text_of(in("run.json")));
    EXPECT_EQ(record["ring"]["processors_per_node"].get<int>(), 2);
    EXPECT_EQ(record["ring"]["wait"]["spins"].get<int>(), 0);
    for (const auto& point : record["points"])
      largest = std::max(largest, point["batch"].get<int>());
  }
  EXPECT_GT(largest, 1);
}

TEST_F(RingLaunch, RecordsWhereItsRanksRanOnceConfined) {
  const Ended ended = run(2, "--budget 1 --end 10 --processors 1 --transports region");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto record = nlohmann::json::parse(text_of(in("run.json")));
  for (const auto& place : record["placement"]) EXPECT_EQ(place["cpus"].size(), 1U) << place;
}

TEST_F(RingLaunch, LosesDatagramsAndNoData) {
  if (!fs::exists(LOSSY)) GTEST_SKIP() << "not built with a sanitizer: " LOSSY;
  // A blank in LD_PRELOAD would end the path.
  fs::copy_file(LOSSY, in("lossy.so"));
  setenv("LD_PRELOAD", in("lossy.so").c_str(), 1);
  const Ended ended = run(3,
                          "--budget 1 --start 10 --end 10000 --pretend-nodes 0,0,1 "
                          "--transports region-udp --interface lo");
  unsetenv("LD_PRELOAD");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto record = nlohmann::json::parse(text_of(in("run.json")));
  ASSERT_EQ(record["region-udp"]["ranks"].size(), 3U);
  for (const int sender : {1, 2}) {
    const auto& rank = record["region-udp"]["ranks"][static_cast<std::size_t>(sender)];
    EXPECT_GT(rank["datagrams"], 0) << rank;
    EXPECT_GT(rank["repeated"], 0) << rank;
  }
}

TEST_F(RingLaunch, ARankThatFailsInALapEndsAllAndSaysWhy) {
  const Ended ended = run(3,
                          "--transports region-udp --interface lo --pretend-nodes 0,1,2 --budget 1 "
                          "--heap 8192 --start 5000 --end 5000");
  EXPECT_EQ(ended.code, 2) << ended.err;
  EXPECT_TRUE(has(ended.err, "ring: transport region-udp, 5000 bytes, at rank ")) << ended.err;
  EXPECT_TRUE(has(ended.err, " exhausted: a region of 5000 bytes does not fit")) << ended.err;
  EXPECT_TRUE(all_gone());
}

TEST_F(RingLaunch, WrongDataEndsItWithStatus3AndSaysWhere) {
  for (const auto& [name, message] : std::vector<std::pair<std::string, std::string>>{
           {"corrupt", "wrong data: transport corrupt, 10 bytes, at rank 1: byte 9 is "},
           {"stale", "wrong data: transport stale, 10 bytes, at rank "},
           {"copying", "regions were copied"},
           {"moving", "the region was not handed over in place: it moved to offset "},
           {"skimming", "wrong data: transport skimming-read, 10000 bytes, at rank "},
           {"moving --pretend-nodes 0,1,1",
            "at rank 2: the region was not handed over in place: it moved to offset "}}) {
    const Ended ended =
        run(has(name, "nodes") ? 3 : 2,
            (name == "skimming" ? "--budget 1 --start 10000 --end 10000" : "--budget 1 --end 10") +
                std::string(" --transports mpi,") + name,
            FAULTY);
    EXPECT_EQ(ended.code, 3) << name << ended.err;
    EXPECT_TRUE(has(ended.err, message)) << ended.err;
    EXPECT_FALSE(has(ended.out, "ROUNDTRIP COMPLETE"));
    EXPECT_FALSE(fs::exists(in("run.json")));
  }
}

TEST_F(RingLaunch, BadFlagsAreOneLineAndStatus2) {
  for (const auto& [flags, message] : std::vector<std::pair<std::string, std::string>>{
           {"--transports region,carrier-pigeon", "--transports: no transport carrier-pigeon"},
           {"--transports pvm", "no transport can be used: needs PVM, which this program was "},
           {"--start 4", "--start: a region holds at least its counter of 8 bytes"},
           {"--pretend-nodes 0", "--pretend-nodes: names 1 ranks, started with 2"},
           {"--processors 4096", "--processors: the ranks of a node may use only "},
           {"--transports region-udp --pretend-nodes 0,1",
            "no transport can be used: needs --interface, the network between the nodes"},
           {"--transports region-udp --pretend-nodes 0,1 --interface none0",
            "--interface: none0 on "},
           {"--transports mpi-shm --pretend-nodes 0,1",
            "no transport can be used: needs all ranks in one node, they are 1+1"},
           {"--heap 8192 --start 10000 --end 10000 --budget 1",
            "comm heap of rank 0 exhausted: a region of 10000 bytes does not fit, the largest free "
            "piece of 8192 bytes has "}}) {
    const Ended ended = run(2, flags);
    EXPECT_EQ(ended.code, 2) << flags << ended.err;
    EXPECT_TRUE(has(ended.err, "ring: " + message)) << ended.err;
    EXPECT_FALSE(has(ended.out, "ROUNDTRIP COMPLETE"));
  }
}

#ifdef HAVE_PVM
TEST_F(RingLaunch, PvmHasADaemonOfItsOwn) {
  const Ended ended = run(2, "--budget 1 --end 10 --transports region,pvm,pvm-xdr", RING_PVM);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(text_of(in("samples.csv")), "\nring,2,pvm-xdr,10,measure,5,time_per_pass,"));
  EXPECT_TRUE(has(text_of(in("run.json")), "\"version\": \"3.4"));
  for (const auto& entry : fs::directory_iterator(in("."))) {
    EXPECT_FALSE(has(entry.path().filename(), "roundtrip-pvm")) << entry.path();
  }
}

TEST_F(RingLaunch, PvmIsSkippedBetweenNodesThatItCannotTellApart) {
  const Ended ended =
      run(2, "--budget 1 --end 10 --transports mpi,pvm --pretend-nodes 0,1", RING_PVM);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(has(text_of(in("run.json")), "needs a network between nodes, they are pretended"));
}

TEST_F(RingLaunch, PvmThatIsNotThereIsSaidInOneLine) {
  setenv("PVM_ROOT", "/nonexistent", 1);
  const Ended ended = run(2, "--budget 1 --transports pvm", RING_PVM);
  unsetenv("PVM_ROOT");
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(has(ended.err, "ring-pvm: pvm: no daemon /nonexistent/lib/pvmd: install PVM 3.4"))
      << ended.err;
}
#endif

}  // namespace
}  // namespace roundtrip::ring
