#include "core/session.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <nlohmann/json.hpp>

#include "core/failure.hpp"

namespace roundtrip {
namespace {

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

/// A barrier whose waiting ranks sleep: MPI_Barrier would spin on cores that others measure on.
/// usleep and not std::this_thread, because SimGrid replaces the former by simulated time.
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

Session::Session(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  start_ = MPI_Wtime();
  MPI_Comm_rank(world(), &rank_);
  MPI_Comm_size(world(), &size_);
  placement_ = find_placement();
}

Session::~Session() {
  MPI_Finalize();
}

std::vector<Place> Session::find_placement() const {
  std::vector<Place> found;
  for (const std::string& text : gather(nlohmann::json{host_name(), allowed_cpus()}.dump())) {
    const auto place = nlohmann::json::parse(text);
    found.push_back({static_cast<int>(found.size()), place[0], place[1]});
  }
  return found;
}

std::vector<std::string> Session::hosts() const {
  std::vector<std::string> names;
  for (const Place& place : placement_) {
    if (std::ranges::find(names, place.host) == names.end()) names.push_back(place.host);
  }
  return names;
}

std::vector<std::string> Session::gather(const std::string& mine) const {
  const auto ranks = root() ? static_cast<std::size_t>(size_) : 0;
  const int length = static_cast<int>(mine.size());
  std::vector<int> lengths(ranks);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, world());

  std::vector<int> starts(ranks);
  int total = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    starts[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0,
              world());

  std::vector<std::string> texts;
  for (std::size_t i = 0; i < ranks; ++i) {
    texts.push_back(
        all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
  }
  return texts;
}

void Session::settle(const std::function<void()>& part) const {
  struct {
    int code;
    int rank;
  } mine{0, rank_}, worst{0, 0};
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
  quiet_barrier(world());
  MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, world());
  if (worst.code == 0) return;

  int length = static_cast<int>(message.size());
  MPI_Bcast(&length, 1, MPI_INT, worst.rank, world());
  message.resize(static_cast<std::size_t>(length));
  MPI_Bcast(message.data(), length, MPI_CHAR, worst.rank, world());
  throw Failure(static_cast<Exit>(worst.code), message);
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string line(text.data());
  line.resize(std::min(line.size(), line.find('\n')));
  std::ranges::replace(line, '\t', ' ');
  return line;
}

std::string mpi_standard() {
  int major = 0;
  int minor = 0;
  MPI_Get_version(&major, &minor);
  return std::to_string(major) + '.' + std::to_string(minor);
}

}  // namespace roundtrip
