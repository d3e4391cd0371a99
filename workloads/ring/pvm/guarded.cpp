#include "ring/pvm/guarded.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "core/failure.hpp"

namespace roundtrip::ring {

namespace fs = std::filesystem;

std::string pvm_root() {
  const char* const given = std::getenv("PVM_ROOT");
  return given != nullptr ? given : "/usr/lib/pvm3";
}

GuardedDaemon::GuardedDaemon(const std::vector<std::string>& arguments) {
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
  std::vector<std::string> words{guard.string(), daemon.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int error =
      posix_spawn(&guard_, pointers[0], &files, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(input[0]);
  close(output[1]);
  lifeline_ = input[1];
  from_ = output[0];
  if (error != 0) guard_ = -1;
}

GuardedDaemon::~GuardedDaemon() {
  close(from_);
  close(lifeline_);
  if (guard_ > 0) waitpid(guard_, nullptr, 0);
}

std::string GuardedDaemon::listen() const {
  std::string line;
  for (char c = 0; read(from_, &c, 1) == 1;) {
    if (c == '\n') return line;
    line += c;
  }
  throw Failure(Exit::usage, "pvm: no daemon could be started");
}

void GuardedDaemon::tell(const std::string& line) const {
  const std::string whole = line + '\n';
  if (write(lifeline_, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
    throw Failure(Exit::usage, "pvm: the daemon's guard is gone");
  }
}

}  // namespace roundtrip::ring
