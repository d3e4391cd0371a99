// A library that LD_PRELOAD loads into the ranks of a third-party MPI program: each rank prints to
// standard error what it runs, and at its end what it sent and what disturbed it. It changes
// nothing else, and is silent in a program without MPI, such as a script that starts the real one.
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>

#include "core/connections.hpp"
#include "core/counters.hpp"
#include "core/json_text.hpp"
#include "core/loaded.hpp"
#include "core/node.hpp"
#include "core/placement.hpp"
#include "core/stops.hpp"

namespace {

using nlohmann::ordered_json;

/// The first line by which the loaded MPI library describes itself; empty without MPI.
std::optional<std::string> library() {
  using Function = int (*)(char*, int*);
  void* const symbol = dlsym(RTLD_DEFAULT, "PMPI_Get_library_version");
  if (symbol == nullptr) return std::nullopt;
  std::array<char, 1 << 14> text{};  // MPI_MAX_LIBRARY_VERSION_STRING is 256 to 8192
  int length = 0;
  reinterpret_cast<Function>(symbol)(text.data(), &length);
  const std::string lines(text.data());
  std::string line = lines.substr(0, lines.find('\n'));
  std::ranges::replace(line, '\t', ' ');
  return line;
}

/// The number of this rank, as the launcher sets it; null if it does not.
ordered_json rank() {
  for (const char* name : {"PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"}) {
    const char* const text = std::getenv(name);
    char* end = nullptr;
    if (text == nullptr || *text == '\0') continue;
    if (const auto number = std::strtol(text, &end, 10); *end == '\0') return number;
  }
  return nullptr;
}

/// Removes this library from LD_PRELOAD, which programs that the rank starts would inherit.
void leave_preload() {
  Dl_info own{};
  const char* const value = std::getenv("LD_PRELOAD");
  if (value == nullptr || dladdr(reinterpret_cast<void*>(&leave_preload), &own) == 0) return;
  const std::string text(value);
  const std::string name(own.dli_fname);
  if (!text.starts_with(name)) return;
  const auto rest = text.find_first_not_of(": ", name.size());
  if (rest == std::string::npos) {
    unsetenv("LD_PRELOAD");
  } else {
    setenv("LD_PRELOAD", text.substr(rest).c_str(), 1);
  }
}

/// Prints one line at once, so that no other rank's output stands in it.
void print(const ordered_json& facts) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string line = "ROUNDTRIP RANK ON " + std::string(host.data()) + ' ' +
                           std::to_string(getpid()) + ' ' + roundtrip::json_text(facts) + '\n';
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

class Witness {
 public:
  Witness() {
    const auto name = library();
    if (!name) return;
    leave_preload();
    ordered_json identity = {{"library", *name}};
    identity.update(roundtrip::describe_loaded());
    print({{"rank", rank()}, {"cpus", roundtrip::allowed_cpus()}, {"identity", identity}});
    print({{"node", roundtrip::read_node("/")}});  // apart, as below: a pipe takes 4 KiB at once
    pid_ = getpid();
    roundtrip::start_heartbeat();
    roundtrip::watch_stops();
    sent_before_ = roundtrip::read_sent_bytes("/");
    watch_.emplace();
  }
  /// Before MPI closes its connections.
  void note_traffic() {
    if (!watch_) return;
    traffic_ = roundtrip::traffic_since(sent_before_);
    traffic_["tcp_bytes"] = roundtrip::tcp_bytes();
  }
  ~Witness() {
    try {
      end();
    } catch (...) {
      // The rank must end as it would have ended.
    }
  }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

 private:
  /// Not in a copy of the rank (fork(2)), which ends apart.
  void end() const {
    if (!watch_ || pid_ != getpid()) return;
    const auto& load = watch_->start().load_average;
    auto disturbance = watch_->record();
    const roundtrip::Stops stops = roundtrip::stops();
    disturbance["continued"] = stops.continued;
    disturbance["longest_stop_s"] = stops.longest_s ? ordered_json(*stops.longest_s) : nullptr;
    print({{"load_average_start", load ? ordered_json(*load) : nullptr},
           {"disturbance", disturbance}});
    print({{"traffic", traffic_}});
  }

  std::optional<roundtrip::RankWatch> watch_;
  roundtrip::SentBytes sent_before_;
  ordered_json traffic_ = ordered_json::object();  ///< empty unless the program called MPI_Finalize
  pid_t pid_ = 0;
};

Witness witness;

}  // namespace

// A program calls these in place of MPI's (MPI 4.1, chapter 15).
extern "C" {

__attribute__((visibility("default"))) int MPI_Finalize() {
  witness.note_traffic();
  using Function = int (*)();
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, "MPI_Finalize"))();
}

/// Of Fortran, by the usual rule of compilers for names.
__attribute__((visibility("default"))) void mpi_finalize_(int* error) {
  witness.note_traffic();
  using Function = void (*)(int*);
  reinterpret_cast<Function>(dlsym(RTLD_NEXT, "mpi_finalize_"))(error);
}

}  // extern "C"
