#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

#include "npb/npb.hpp"

// NPB on a network that corrupts one element of one message, for tests. NPB_FAULT selects it:
// `<rank> <call> <number> <factor> <summand>`. `call` is Send (for all point-to-point messages),
// Alltoall or Alltoallv. `number` counts, from 0, the messages that `rank` has sent by that call
// since the last barrier. The element is the middle one of the message, or the next that is not 0.
// A double is multiplied by the factor; the summand is added to an int.
namespace {

struct Fault {
  int rank = -1;
  std::string call;
  long number = 0;
  double factor = 1;
  int summand = 0;
};

Fault read_fault() {
  Fault fault;
  const char* const text = std::getenv("NPB_FAULT");
  std::istringstream words(text == nullptr ? "" : text);
  words >> fault.rank >> fault.call >> fault.number >> fault.factor >> fault.summand;
  return fault;
}

long& sent() {
  static long number = 0;
  return number;
}

template <class T, class Change>
void change_one(std::vector<char>& bytes, Change change) {
  T* const first = reinterpret_cast<T*>(bytes.data());
  T* const last = first + bytes.size() / sizeof(T);
  T* const middle = first + (last - first) / 2;
  T* const chosen = std::find_if(middle, last, [](T value) { return value != T{}; });
  if (chosen != last) *chosen = change(*chosen);
}

/// The elements to send: `data`, or a corrupted copy that is never freed.
const void* passed_on(const char* call, const void* data, int count, MPI_Datatype type) {
  static const Fault fault = read_fault();
  static std::deque<std::vector<char>> copies;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bool known = type == MPI_DOUBLE || type == MPI_INT;
  if (rank != fault.rank || fault.call != call || !known || sent()++ != fault.number) return data;
  int size = 0;
  PMPI_Type_size(type, &size);
  auto& copy =
      copies.emplace_back(static_cast<std::size_t>(count) * static_cast<std::size_t>(size));
  std::memcpy(copy.data(), data, copy.size());
  if (type == MPI_INT) {
    change_one<int>(copy, [](int key) { return key + fault.summand; });
  } else {
    change_one<double>(copy, [](double value) { return value * fault.factor; });
  }
  return copy.data();
}

}  // namespace

int MPI_Barrier(MPI_Comm comm) {
  sent() = 0;
  return PMPI_Barrier(comm);
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return PMPI_Send(passed_on("Send", data, count, type), count, type, to, tag, comm);
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return PMPI_Isend(passed_on("Send", data, count, type), count, type, to, tag, comm, request);
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                 void* in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status* status) {
  return PMPI_Sendrecv(passed_on("Send", out, out_count, out_type), out_count, out_type, to,
                       out_tag, in, in_count, in_type, from, in_tag, comm, status);
}

int MPI_Alltoall(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                 MPI_Datatype in_type, MPI_Comm comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  return PMPI_Alltoall(passed_on("Alltoall", out, ranks * out_count, out_type), out_count, out_type,
                       in, in_count, in_type, comm);
}

int MPI_Alltoallv(const void* out, const int* out_counts, const int* out_starts,
                  MPI_Datatype out_type, void* in, const int* in_counts, const int* in_starts,
                  MPI_Datatype in_type, MPI_Comm comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  const int all = out_starts[ranks - 1] + out_counts[ranks - 1];
  return PMPI_Alltoallv(passed_on("Alltoallv", out, all, out_type), out_counts, out_starts,
                        out_type, in, in_counts, in_starts, in_type, comm);
}

int main(int argc, char** argv) {
  roundtrip::npb::Npb workload(roundtrip::npb::all_benchmarks());
  return roundtrip::run_main(argc, argv, workload);
}
