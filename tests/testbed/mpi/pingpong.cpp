// An 8-byte ping-pong between the first and the last rank, after a ring that needs all ranks.
//
//   pingpong [COUNT]        prints one line:
//   np=4 ring=ok shared=1 hosts=a1,a2,b1,b2 packets=110 min_us=512.1 p50_us=514.9
// Times are half round trips; `shared` is how many ranks share memory with the first one, `packets`
// how many its node sent over an interface (not loopback) during the ping-pong.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Name = std::array<char, MPI_MAX_PROCESSOR_NAME>;
constexpr int kWarmUp = 10;

std::string hosts(int size) {
  Name name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  std::vector<Name> names(static_cast<std::size_t>(size));
  const int bytes = static_cast<int>(name.size());
  MPI_Gather(name.data(), bytes, MPI_CHAR, names.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  std::string list;
  for (const Name& each : names) list += (list.empty() ? "" : ",") + std::string(each.data());
  return list;
}

int sharing(int rank) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  int size = 0;
  MPI_Comm_size(node, &size);
  MPI_Comm_free(&node);
  return size;
}

// Every rank adds one to a token that goes round.
bool ring(int rank, int size) {
  int token = 0;
  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  if (rank == 0) {
    token = 1;
    MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return token == size;
  }
  MPI_Recv(&token, 1, MPI_INT, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  ++token;
  MPI_Send(&token, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
  return true;
}

// Packets that all interfaces but loopback have sent (proc_pid_net(5): the tenth number of a line).
long packets_sent() {
  std::ifstream file("/proc/net/dev");
  long sum = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.substr(0, colon).ends_with(" lo")) continue;
    std::istringstream numbers(line.substr(colon + 1));
    long number = 0;
    for (int i = 0; i < 10; ++i) numbers >> number;
    sum += number;
  }
  return sum;
}

// Half round trips in us, sorted; empty but on rank 0.
std::vector<double> pingpong(int rank, int last, int count) {
  std::vector<double> times;
  double message = 0;
  for (int i = 0; i < kWarmUp + count; ++i) {
    const double start = MPI_Wtime();
    if (rank == 0) {
      MPI_Send(&message, 1, MPI_DOUBLE, last, 1, MPI_COMM_WORLD);
      MPI_Recv(&message, 1, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (i >= kWarmUp) times.push_back((MPI_Wtime() - start) / 2 * 1e6);
    } else if (rank == last) {
      MPI_Recv(&message, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&message, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    }
  }
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2) {
    std::printf("np=%d\n", size);
    MPI_Finalize();
    return 1;
  }
  const int count = argc > 1 ? std::atoi(argv[1]) : 100;
  const std::string names = hosts(size);
  const int shared = sharing(rank);
  const bool whole = ring(rank, size);
  const long sent = packets_sent();
  const std::vector<double> times = pingpong(rank, size - 1, std::max(count, 1));
  if (rank == 0) {
    std::printf("np=%d ring=%s shared=%d hosts=%s packets=%ld min_us=%.1f p50_us=%.1f\n", size,
                whole ? "ok" : "broken", shared, names.c_str(), packets_sent() - sent,
                times.front(), times[times.size() / 2]);
  }
  // MPICH 4.0 with UCX may hang in MPI_Finalize unless all ranks enter it together.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return whole ? 0 : 1;
}
