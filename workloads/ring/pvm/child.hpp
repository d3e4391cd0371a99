#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace roundtrip::ring {

/// A process that was started, and files to its standard input and from its standard output.
struct Child {
  pid_t process = -1;  ///< -1: it could not be started
  int input = -1;
  int output = -1;
};

/// How a child ends and where its output goes, besides what it runs.
struct ChildPlace {
  bool own_session = false;  ///< signals to our process group do not reach it
  std::string log;           ///< its standard error is appended here; empty: it is ours
};

/// Starts a program, by its path. It gets signals as if nobody had ever ignored one.
Child start(std::vector<std::string> command, const ChildPlace& place);

/// Writes to the standard input of a child; false, and no signal, if nobody reads it any more.
bool write_line(const Child& child, const std::string& line);

}  // namespace roundtrip::ring
