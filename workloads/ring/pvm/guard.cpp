// Runs a private PVM daemon for as long as its parent lives: `pvm-guard DAEMON`. Makes a directory
// for the daemon, prints its name once the daemon answers, and waits for the end of its standard
// input, which comes however the parent ends. Then it stops the daemon and removes the directory.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// A directory of its own that goes away with this.
class PrivateFolder {
 public:
  PrivateFolder() : path_((fs::temp_directory_path() / "roundtrip-pvm-XXXXXX").string()) {
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (made_) fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

pid_t start(const char* daemon, const std::string& log) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  const std::array<char*, 2> arguments{const_cast<char*>(daemon), nullptr};
  pid_t process = 0;
  const int error = posix_spawn(&process, daemon, &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? process : -1;
}

/// Whether the process has ended; waits for it at most so long.
bool ended(pid_t process, milliseconds patience) {
  constexpr milliseconds nap{10};
  for (milliseconds waited{0};; waited += nap) {
    if (waitpid(process, nullptr, WNOHANG) != 0) return true;
    if (waited >= patience) return false;
    std::this_thread::sleep_for(nap);
  }
}

/// The file by which tasks find the daemon.
bool answers(const fs::path& folder) {
  return fs::exists(folder / ("pvmd." + std::to_string(getuid())));
}

int complain(const std::string& what) {
  std::fprintf(stderr, "pvm: %s\n", what.c_str());
  return 2;
}

int guard(const char* daemon) {
  const PrivateFolder folder;
  if (!folder.made()) return complain("cannot make a directory " + folder.path());
  setenv("PVM_TMP", folder.path().c_str(), 1);
  const std::string log = folder.path() + "/log";
  const pid_t process = start(daemon, log);
  if (process < 0) return complain(std::string("cannot start the daemon ") + daemon);
  constexpr milliseconds nap{10};
  constexpr milliseconds patience{5000};
  milliseconds waited{0};
  bool gone = false;
  while (!gone && waited < patience && !answers(folder.path())) {
    gone = ended(process, nap);
    waited += nap;
  }
  if (gone || waited >= patience) {
    std::ifstream file(log);
    std::string line;
    for (std::string next; std::getline(file, next);) line = next;
    if (!gone) kill(process, SIGKILL);
    return complain("the daemon did not start: " + line);
  }
  std::printf("%s\n", folder.path().c_str());
  std::fflush(stdout);
  char byte = 0;
  while (read(0, &byte, 1) > 0) continue;
  kill(process, SIGTERM);
  constexpr milliseconds grace{1000};
  if (!ended(process, grace)) {
    kill(process, SIGKILL);
    ended(process, grace);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Launchers signal whole process groups; this one ends by its parent's end alone.
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) std::signal(number, SIG_IGN);
  if (argc != 2) return complain("usage: pvm-guard DAEMON");
  return guard(argv[1]);
}
