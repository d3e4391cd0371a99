#include "core/collective.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

namespace roundtrip {
namespace {

constexpr double nap_s = 0.02;

void nap() {
  usleep(static_cast<useconds_t>(nap_s * 1e6));
}

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

TEST(Synchronise, NobodyLeavesBeforeTheLastHasCome) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now();
  if (rank_of_world() == 0) nap();
  synchronise(MPI_COMM_WORLD);
  // Ranks leave MPI_Barrier at different times: half a nap is the tolerance.
  EXPECT_GT(now() - start, nap_s / 2);
}

TEST(MaximumOverRanks, IsTakenAtEachPlace) {
  const double rank = rank_of_world();
  std::vector<double> values = {rank, -rank, 7.0};
  maximum_over_ranks(MPI_COMM_WORLD, values);
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(values, (std::vector<double>{size - 1.0, 0.0, 7.0}));
}

/// The maximum of the ranks' totals would be half of the total of the maxima.
TEST(TimeCollective, EachCallTakesAsLongAsItsSlowestRank) {
  int call = -1;  // the first one is not timed
  const auto seconds = time_collective(MPI_COMM_WORLD, {.warm = 1, .timed = 4}, [&] {
    if (call >= 0 && call % 2 == rank_of_world()) nap();
    ++call;
  });
  ASSERT_EQ(seconds.size(), 4U);
  for (const double one : seconds) EXPECT_GE(one, 0.99 * nap_s);
  EXPECT_EQ(call, 4);
}

}  // namespace
}  // namespace roundtrip
