// Runs a private PVM daemon for as long as its parent lives. Makes a directory for the daemon,
// prints its name once the daemon answers, and waits for the end of file on standard input, which
// comes however the parent ends. Then it stops the daemon and removes the directory.
//
//   pvm-guard DAEMON                    the only daemon
//   pvm-guard DAEMON ADDRESS OTHER...   the first of several: prints an order to start each other
//                                       one, and reads its answer
//   pvm-guard DAEMON pvmd ORDER...      another, started by an order: prints its answer
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "ring/pvm/child.hpp"

namespace {

using roundtrip::ring::Child;
namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds patience{5000};

/// A private directory, removed by the destructor.
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

/// The next line; empty at end of file, or if a byte takes more than `longest`.
std::optional<std::string> read_line(int file, milliseconds longest) {
  pollfd watched{.fd = file, .events = POLLIN, .revents = 0};
  std::string line;
  for (char c = 0; poll(&watched, 1, static_cast<int>(longest.count())) > 0;) {
    if (read(file, &c, 1) != 1) break;
    if (c == '\n') return line;
    line += c;
  }
  return std::nullopt;
}

/// The daemon's next line that begins with `start`.
std::optional<std::string> await_line(const Child& daemon, std::string_view start) {
  auto line = read_line(daemon.output, patience);
  while (line && !line->starts_with(start)) line = read_line(daemon.output, patience);
  return line;
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Whether the process has ended; waits at most `longest` for that.
bool ended(pid_t process, milliseconds longest) {
  constexpr milliseconds nap{10};
  for (milliseconds waited{0};; waited += nap) {
    if (waitpid(process, nullptr, WNOHANG) != 0) return true;
    if (waited >= longest) return false;
    std::this_thread::sleep_for(nap);
  }
}

/// Whether the file for finding the daemon exists.
bool answers(const fs::path& folder) {
  return fs::exists(folder / ("pvmd." + std::to_string(getuid())));
}

int complain(const std::string& what) {
  std::fprintf(stderr, "pvm: %s\n", what.c_str());
  return 2;
}

/// Kills the daemon and reports the last line of its log; returns the exit status.
int give_up(const Child& daemon, const std::string& log) {
  if (!ended(daemon.process, milliseconds{0})) kill(daemon.process, SIGKILL);
  std::ifstream file(log);
  std::string line;
  for (std::string next; std::getline(file, next);) line = next;
  return complain("the daemon did not start: " + line);
}

/// Relays the orders to start other daemons to the parent, and the answers to the first daemon.
bool introduce(const Child& daemon, std::size_t others) {
  for (std::size_t i = 0; i < others; ++i) {
    const auto order = await_line(daemon, "pvmd -S ");
    if (!order) return false;
    say(*order);
    const auto answer = read_line(0, 4 * patience);
    if (!answer || !write_line(daemon, *answer)) return false;
  }
  return true;
}

/// `words`: arguments of `pvm-guard` after DAEMON, or empty.
int guard(const std::string& program, std::span<const std::string> words) {
  const PrivateFolder folder;
  if (!folder.made()) return complain("cannot make a directory " + folder.path());
  setenv("PVM_TMP", folder.path().c_str(), 1);
  const std::string log = folder.path() + "/log";
  const bool follows = !words.empty() && words.front() == "pvmd";
  const auto others = follows || words.empty() ? words.first(0) : words.subspan(1);
  std::vector<std::string> command{program};
  if (follows) {
    command.insert(command.end(), words.begin() + 1, words.end());
    command.insert(command.begin() + 1, "-f");  // does not fork
  } else if (!words.empty()) {
    const std::string file = folder.path() + "/hosts";
    std::ofstream hosts(file);
    for (const std::string& address : others) hosts << address << " so=ms\n";
    command.insert(command.end(), {"-n" + words.front(), file});
  }
  const Child daemon =
      roundtrip::ring::start(std::move(command), {.own_session = false, .log = log});
  if (daemon.process < 0) return complain("cannot start the daemon " + program);
  if (follows) {
    const auto answer = await_line(daemon, "ddpro<");
    if (!answer) return give_up(daemon, log);
    say(*answer);
  }
  if (!introduce(daemon, others.size())) return give_up(daemon, log);
  constexpr milliseconds nap{10};
  milliseconds waited{0};
  while (!answers(folder.path())) {
    if (waited >= patience || ended(daemon.process, nap)) return give_up(daemon, log);
    waited += nap;
  }
  say(folder.path());
  char byte = 0;
  while (read(0, &byte, 1) > 0) continue;
  kill(daemon.process, SIGTERM);
  constexpr milliseconds grace{1000};
  if (!ended(daemon.process, grace)) {
    kill(daemon.process, SIGKILL);
    ended(daemon.process, grace);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Launchers signal whole process groups; this process ends with its parent only.
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) std::signal(number, SIG_IGN);
  if (argc < 2) return complain("usage: pvm-guard DAEMON [ADDRESS OTHER... | pvmd ORDER...]");
  const std::vector<std::string> words(argv + 2, argv + argc);
  return guard(argv[1], words);
}
