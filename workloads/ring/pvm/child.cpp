#include "ring/pvm/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace roundtrip::ring {

Child start(std::vector<std::string> command, const ChildPlace& place) {
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  // A socket, because send() can suppress SIGPIPE when the other end is closed.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.data()) != 0) return {};
  if (pipe2(output.data(), O_CLOEXEC) != 0) {
    for (const int file : input) close(file);
    return {};
  }
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input[0], 0);
  posix_spawn_file_actions_adddup2(&files, output[1], 1);
  if (!place.log.empty()) {
    constexpr mode_t mine = 0600;
    constexpr int append = O_WRONLY | O_CREAT | O_APPEND;
    posix_spawn_file_actions_addopen(&files, 2, place.log.c_str(), append, mine);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigdefault(&attributes, &all);
  const int session = place.own_session ? POSIX_SPAWN_SETSID : 0;
  posix_spawnattr_setflags(&attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF | session));
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  Child child{.process = -1, .input = input[1], .output = output[0]};
  const int error =
      posix_spawn(&child.process, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(input[0]);
  close(output[1]);
  if (error == 0) return child;
  close(child.input);
  close(child.output);
  return {};
}

bool write_line(const Child& child, const std::string& line) {
  const std::string whole = line + '\n';
  return send(child.input, whole.data(), whole.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(whole.size());
}

}  // namespace roundtrip::ring
