#include "core/session.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/leaf_switch.hpp"
#include "core/placement.hpp"

namespace roundtrip {
namespace {

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

/// Text of MPI_Get_library_version, without tabs.
std::string library_text() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string lines(text.data());
  std::ranges::replace(lines, '\t', ' ');
  return lines;
}

std::string own_switch() {
  const char* address = std::getenv("SLURM_TOPOLOGY_ADDR");
  const char* pattern = std::getenv("SLURM_TOPOLOGY_ADDR_PATTERN");
  return address != nullptr && pattern != nullptr ? leaf_switch(address, pattern) : "";
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
  for (const std::string& text :
       gather(nlohmann::json{host_name(), allowed_cpus(), own_switch()}.dump())) {
    const auto place = nlohmann::json::parse(text);
    found.push_back({static_cast<int>(found.size()), place[0], place[1], place[2]});
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

void end_all(Exit status) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(status));
}

std::string mpi_library() {
  const std::string text = library_text();
  return text.substr(0, text.find('\n'));
}

std::string mpi_device() {
  std::istringstream lines(library_text());
  for (std::string line; std::getline(lines, line);) {
    const auto label = line.find("Device:");
    if (label == std::string::npos) continue;
    const auto begin = line.find_first_not_of(' ', label + std::strlen("Device:"));
    if (begin != std::string::npos) return line.substr(begin);
  }
  return {};
}

std::string mpi_standard() {
  int major = 0;
  int minor = 0;
  MPI_Get_version(&major, &minor);
  return std::to_string(major) + '.' + std::to_string(minor);
}

}  // namespace roundtrip
