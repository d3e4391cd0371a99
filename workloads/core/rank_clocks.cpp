#include "core/rank_clocks.hpp"

#include <array>
#include <ctime>

#include "core/clock.hpp"
#include "core/simulation.hpp"

namespace roundtrip {
namespace {

constexpr int tag = 27;
constexpr int most_questions = 4;
/// Seconds: with a smaller error, another question is not worthwhile.
constexpr double good_error_s = 20e-6;

using Answer = std::array<double, 2>;

Answer both_clocks() {
  timespec utc{};
  clock_gettime(CLOCK_REALTIME, &utc);
  return {now(), static_cast<double>(utc.tv_sec) + 1e-9 * static_cast<double>(utc.tv_nsec)};
}

/// On rank 0: the offset of `rank` with the smallest error. Then ends its answer().
ClockOffset ask(int rank, MPI_Comm comm) {
  ClockOffset best;
  for (int question = 0; question < most_questions; ++question) {
    const Answer before = both_clocks();
    int goes_on = 1;
    Answer answer{};
    MPI_Send(&goes_on, 1, MPI_INT, rank, tag, comm);
    MPI_Recv(answer.data(), static_cast<int>(answer.size()), MPI_DOUBLE, rank, tag, comm,
             MPI_STATUS_IGNORE);
    const Answer after = both_clocks();
    const ClockOffset one{.at_s = (before[0] + after[0]) / 2,
                          .ahead_s = answer[0] - (before[0] + after[0]) / 2,
                          .error_s = (after[0] - before[0]) / 2,
                          .utc_ahead_s = answer[1] - (before[1] + after[1]) / 2};
    if (question == 0 || one.error_s < best.error_s) best = one;
    if (best.error_s < good_error_s) break;
  }
  int goes_on = 0;
  MPI_Send(&goes_on, 1, MPI_INT, rank, tag, comm);
  return best;
}

void answer(MPI_Comm comm) {
  while (true) {
    int goes_on = 0;
    MPI_Recv(&goes_on, 1, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE);
    if (goes_on == 0) return;
    const Answer mine = both_clocks();
    MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, 0, tag, comm);
  }
}

}  // namespace

std::vector<ClockOffset> compare_clocks(const Session& session) {
  std::vector<ClockOffset> offsets;
  if constexpr (simulated) return offsets;
  if (!session.root()) {
    answer(session.world());
    return offsets;
  }
  offsets.push_back({.at_s = now()});
  for (int rank = 1; rank < session.size(); ++rank) offsets.push_back(ask(rank, session.world()));
  return offsets;
}

ClockRate rate_between(const ClockOffset& start, const ClockOffset& end) {
  const double elapsed_s = end.at_s - start.at_s;
  if (elapsed_s <= 0) return {.rate = 1, .error = 1};
  return {.rate = 1 + (end.ahead_s - start.ahead_s) / elapsed_s,
          .error = (start.error_s + end.error_s) / elapsed_s};
}

}  // namespace roundtrip
