#include "core/agreement.hpp"

#include <gtest/gtest.h>

#include "core/failure.hpp"
#include "core/subset.hpp"
#include "core/testing/session.hpp"

namespace roundtrip {
namespace {

TEST(Agree, TheWorstFailureIsThrownOnEveryRank) {
  const Session& session = test_session();
  try {
    agree(session.world(), [&] {
      if (session.rank() == 0) throw Failure(Exit::usage, "bad flag");
      if (session.rank() == 1) throw Failure(Exit::wrong_data, "wrong data at rank 1");
    });
    FAIL() << "nothing was thrown";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), Exit::wrong_data);
    EXPECT_STREQ(failure.what(), "wrong data at rank 1");
  }
  EXPECT_NO_THROW(agree(session.world(), [] {}));
}

TEST(Decide, OnlyRank0IsAskedAndAllHaveItsAnswer) {
  const Session& session = test_session();
  int asked = 0;
  EXPECT_TRUE(decide(session.world(), [&] { return ++asked == 1; }));
  EXPECT_FALSE(decide(session.world(), [] { return false; }));
  EXPECT_EQ(asked, session.root() ? 1 : 0);
}

TEST(Broadcast, ATextReachesEveryRank) {
  const Session& session = test_session();
  EXPECT_EQ(broadcast(session.world(), std::string(5, static_cast<char>('a' + session.rank())), 1),
            "bbbbb");
}

TEST(Subset, HasItsMembersInTheirOrder) {
  const Session& session = test_session();
  const Subset last(session.world(), session.rank() == session.size() - 1);
  EXPECT_EQ(last.member(), session.rank() == session.size() - 1);
  EXPECT_EQ(last.get() != MPI_COMM_NULL, last.member());
}

}  // namespace
}  // namespace roundtrip
