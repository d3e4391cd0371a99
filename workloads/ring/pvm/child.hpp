#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace roundtrip::ring {

/// A child process and descriptors connected to its standard input and output.
struct Child {
  pid_t process = -1;  ///< -1: it could not be started
  int input = -1;
  int output = -1;
};

/// Session and standard error of a child.
struct ChildPlace {
  bool own_session = false;  ///< signals to our process group do not reach it
  std::string log;           ///< file to which its standard error is appended; empty: ours
};

/// Starts a program by its path, with every signal at its default action.
Child start(std::vector<std::string> command, const ChildPlace& place);

/// Writes a line to a child's standard input; false, without SIGPIPE, if its other end is closed.
bool write_line(const Child& child, const std::string& line);

}  // namespace roundtrip::ring
