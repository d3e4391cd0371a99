#include "ring/pvm/daemon.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <pvm3.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "core/failure.hpp"

namespace roundtrip::ring {
namespace {

namespace fs = std::filesystem;

std::string pvm_root() {
  const char* const given = std::getenv("PVM_ROOT");
  return given != nullptr ? given : "/usr/lib/pvm3";
}

std::string read_line(int file) {
  std::string line;
  for (char c = 0; read(file, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

}  // namespace

PvmDaemon::PvmDaemon(const Circle& circle) {
  setenv("PVM_ROOT", pvm_root().c_str(), 1);
  setenv("PVM_ALLOW_ROOT", "1", 1);
  std::string folder;
  circle.session().settle([&] {
    if (circle.rank() == 0) folder = start();
  });
  std::array<char, 4096> name{};
  folder.copy(name.data(), name.size() - 1);
  MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, circle.comm());
  setenv("PVM_TMP", name.data(), 1);
  int mine = 0;
  circle.session().settle([&] {
    mine = pvm_mytid();
    if (mine < 0) throw Failure(Exit::usage, "pvm: the daemon does not answer");
    pvm_setopt(PvmRoute, PvmRouteDirect);
  });
  tasks_.resize(static_cast<std::size_t>(circle.size()));
  MPI_Allgather(&mine, 1, MPI_INT, tasks_.data(), 1, MPI_INT, circle.comm());
}

PvmDaemon::~PvmDaemon() {
  pvm_exit();
  stop();
}

/// Starts the guard and with it the daemon; the daemon's directory.
std::string PvmDaemon::start() {
  const fs::path daemon = fs::path(pvm_root()) / "lib" / "pvmd";
  const fs::path guard = fs::read_symlink("/proc/self/exe").parent_path() / "pvm-guard";
  if (!fs::exists(daemon)) {
    throw Failure(Exit::usage,
                  "pvm: no daemon " + daemon.string() + ": install PVM 3.4 or set PVM_ROOT");
  }
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  if (pipe2(input.data(), O_CLOEXEC) != 0 || pipe2(output.data(), O_CLOEXEC) != 0) {
    throw Failure(Exit::usage, "pvm: no more files can be opened");
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input[0], 0);
  posix_spawn_file_actions_adddup2(&files, output[1], 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string program = guard.string();
  std::string argument = daemon.string();
  std::array<char*, 3> arguments{program.data(), argument.data(), nullptr};
  const int error =
      posix_spawn(&guard_, program.c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(input[0]);
  close(output[1]);
  lifeline_ = input[1];
  std::string folder = error == 0 ? read_line(output[0]) : "";
  close(output[0]);
  if (folder.empty()) {
    stop();
    throw Failure(Exit::usage, "pvm: no daemon could be started");
  }
  return folder;
}

void PvmDaemon::stop() const {
  if (lifeline_ >= 0) close(lifeline_);
  if (guard_ > 0) waitpid(guard_, nullptr, 0);
}

}  // namespace roundtrip::ring
