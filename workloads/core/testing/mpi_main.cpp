#include <gtest/gtest.h>

#include <optional>

#include "core/testing/session.hpp"

namespace {

std::optional<roundtrip::Session> session;

}  // namespace

const roundtrip::Session& roundtrip::test_session() {
  return *session;
}

/// Every rank runs every test; all return the worst result.
int main(int argc, char** argv) {
  session.emplace(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, session->world());
  session.reset();
  return failed;
}
