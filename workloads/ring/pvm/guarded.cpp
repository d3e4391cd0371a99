#include "ring/pvm/guarded.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/failure.hpp"

namespace roundtrip::ring {

namespace fs = std::filesystem;

std::string pvm_root() {
  const char* const given = std::getenv("PVM_ROOT");
  return given != nullptr ? given : DEFAULT_PVM_ROOT;
}

namespace {

/// PVM's script that finds the daemon's program, or that program if there is no script.
fs::path pvm_daemon() {
  const fs::path folder = fs::path(pvm_root()) / "lib";
  return fs::exists(folder / "pvmd3") && !fs::exists(folder / "pvmd") ? folder / "pvmd3"
                                                                      : folder / "pvmd";
}

}  // namespace

GuardedDaemon::GuardedDaemon(const std::vector<std::string>& arguments) {
  const fs::path daemon = pvm_daemon();
  const fs::path guard = fs::read_symlink("/proc/self/exe").parent_path() / "pvm-guard";
  if (!fs::exists(daemon)) {
    throw Failure(Exit::usage,
                  "pvm: no daemon " + daemon.string() + ": install PVM 3.4 or set PVM_ROOT");
  }
  std::vector<std::string> command{guard.string(), daemon.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  guard_ = start(std::move(command), {.own_session = true, .log = ""});
  if (guard_.process < 0) throw Failure(Exit::usage, "pvm: cannot start " + guard.string());
}

GuardedDaemon::~GuardedDaemon() {
  close(guard_.output);
  close(guard_.input);
  waitpid(guard_.process, nullptr, 0);
}

std::string GuardedDaemon::listen() const {
  std::string line;
  for (char c = 0; read(guard_.output, &c, 1) == 1;) {
    if (c == '\n') return line;
    line += c;
  }
  throw Failure(Exit::usage, "pvm: no daemon could be started");
}

void GuardedDaemon::tell(const std::string& line) const {
  if (!write_line(guard_, line)) throw Failure(Exit::usage, "pvm: the daemon's guard is gone");
}

}  // namespace roundtrip::ring
