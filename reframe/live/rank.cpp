// What a rank sees of itself: one line of JSON a rank, after it has exchanged data with all others.

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string in_json(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + "\"";
}

/// The rest of the line of `file` that begins with `key`, without leading blanks.
std::string line_of(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const auto begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

/// The text up to its first line end.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// The content of a file of one line.
std::string content(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The version of the PMIx client, where the MPI has loaded one.
std::string pmix_client() {
  using Version = const char* (*)();
  const auto version = reinterpret_cast<Version>(dlsym(RTLD_DEFAULT, "PMIx_Get_version"));
  return version == nullptr ? "" : version();
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<char> out(size_t{1} << 20U, static_cast<char>(rank));
  std::vector<char> in(out.size());
  for (const int count : {8, static_cast<int>(out.size())}) {
    MPI_Sendrecv(out.data(), count, MPI_CHAR, (rank + 1) % size, 0, in.data(), count, MPI_CHAR,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library{};
  int length = 0;
  MPI_Get_library_version(library.data(), &length);
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);

  std::string pmi;
  for (const char* name : {"PMI_RANK", "PMIX_NAMESPACE", "PMIX_VERSION"}) {
    pmi += (pmi.empty() ? "" : ", ") + in_json(name) + ": " + in_json(variable(name));
  }
  const std::string said =
      "{\"rank\": " + std::to_string(rank) + ", \"ranks\": " + std::to_string(size) +
      ", \"host\": " + in_json(host.data()) +
      ", \"cpus\": " + in_json(line_of("/proc/self/status", "Cpus_allowed_list")) +
      ", \"online\": " + in_json(content("/sys/devices/system/cpu/online")) +
      ", \"memlock\": " + in_json(line_of("/proc/self/limits", "Max locked memory")) +
      ", \"mpi\": " + in_json(first_line(library.data())) + ", \"pmi\": {" + pmi + "}" +
      ", \"pmix_client\": " + in_json(pmix_client()) + "}";
  std::printf("\nROUNDTRIP SEES %s\n", said.c_str());
  std::fflush(stdout);
  return MPI_Finalize();
}
