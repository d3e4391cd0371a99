#include "core/agreement.hpp"

#include <unistd.h>

#include <algorithm>
#include <new>

#include "core/failure.hpp"

namespace roundtrip {
namespace {

/// A barrier whose waiting ranks sleep: MPI_Barrier would spin on cores that others measure on.
/// SimGrid replaces usleep by simulated time, but not std::this_thread.
void quiet_barrier(MPI_Comm comm) {
  constexpr unsigned first_nap_us = 50;
  constexpr unsigned longest_nap_us = 10'000;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  for (unsigned nap_us = first_nap_us; done == 0; nap_us = std::min(2 * nap_us, longest_nap_us)) {
    usleep(nap_us);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

}  // namespace

void agree(MPI_Comm comm, const std::function<void()>& part) {
  struct {
    int code;
    int rank;
  } mine{0, 0}, worst{0, 0};
  MPI_Comm_rank(comm, &mine.rank);
  std::string message;
  try {
    part();
  } catch (const Failure& failure) {
    mine.code = static_cast<int>(failure.code());
    message = failure.what();
  } catch (const std::bad_alloc&) {
    mine.code = static_cast<int>(Exit::usage);
    message = "not enough memory";
  }
  quiet_barrier(comm);
  MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm);
  if (worst.code == 0) return;
  throw Failure(static_cast<Exit>(worst.code), broadcast(comm, message, worst.rank));
}

std::string broadcast(MPI_Comm comm, std::string text, int from) {
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, from, comm);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, from, comm);
  return text;
}

bool decide(MPI_Comm comm, const std::function<bool()>& question) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  int answer = rank == 0 && question() ? 1 : 0;
  MPI_Bcast(&answer, 1, MPI_INT, 0, comm);
  return answer == 1;
}

}  // namespace roundtrip
