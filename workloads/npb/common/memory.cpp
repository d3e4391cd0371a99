#include "npb/common/memory.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/failure.hpp"
#include "core/simulation.hpp"

namespace roundtrip::npb {
namespace {

/// The number in a line `<name>: <number> kB` of a proc(5) file, in bytes; empty if there is no
/// such line.
std::optional<double> bytes_of(const char* path, const std::string& name) {
  constexpr double kib = 1024;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first;
    double value = 0;
    if (words >> first && first == name + ':' && words >> value) return value * kib;
  }
  return std::nullopt;
}

std::string gigabytes(double bytes) {
  constexpr double giga = 1e9;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g GB", bytes / giga);
  return text.data();
}

/// All simulated ranks are in one process.
int ranks_on_this_host(MPI_Comm world) {
  int all = 0;
  MPI_Comm_size(world, &all);
  if constexpr (simulated) return all;
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int ranks = 0;
  MPI_Comm_size(host, &ranks);
  MPI_Comm_free(&host);
  return ranks;
}

}  // namespace

void require_memory(const Session& session, const std::string& who, double bytes) {
  const int ranks = ranks_on_this_host(session.world());
  const std::optional<double> available = bytes_of("/proc/meminfo", "MemAvailable");
  // All ranks read the available memory before any of them allocates.
  MPI_Barrier(session.world());
  session.agree([&] {
    const double needed = bytes * ranks;
    if (!available || needed <= *available) return;
    throw Failure(Exit::usage, who + " needs " + gigabytes(needed) + " (" +
                                   std::to_string(static_cast<long long>(needed)) +
                                   " bytes) for its " + std::to_string(ranks) +
                                   " ranks on a host that has " + gigabytes(*available) + " left");
  });
}

double peak_bytes() {
  return bytes_of("/proc/self/status", "VmHWM").value_or(0);
}

}  // namespace roundtrip::npb
