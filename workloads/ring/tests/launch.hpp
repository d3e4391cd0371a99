#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/testing/launch.hpp"

namespace roundtrip::ring {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class RingLaunch : public LaunchTest {
 public:
  RingLaunch(const RingLaunch&) = delete;
  RingLaunch& operator=(const RingLaunch&) = delete;

 protected:
  // Folder for files of PVM and of MPI's launcher.
  RingLaunch() { setenv("TMPDIR", folder().c_str(), 1); }
  ~RingLaunch() override { unsetenv("TMPDIR"); }

  [[nodiscard]] std::string command(int ranks, const std::string& flags,
                                    const std::string& program) const {
    constexpr int longest_s = 60;
    return shell_line(ranks, program, "--samples samples.csv " + flags, longest_s);
  }

  [[nodiscard]] Ended run(int ranks, const std::string& flags,
                          const std::string& program = RING) const {
    return run_line(command(ranks, flags, program));
  }

  /// Processes of this launch, found by their working directory.
  [[nodiscard]] std::vector<pid_t> processes(const std::string& program) const {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::error_code gone;
      if (fs::read_symlink(entry.path() / "cwd", gone) != folder() || gone) continue;
      const fs::path executable = fs::read_symlink(entry.path() / "exe", gone);
      if (!gone && (program.empty() || executable == program)) found.push_back(std::stoi(name));
    }
    return found;
  }

  /// Whether all processes of this launch end within 3 s: a launcher may end first.
  [[nodiscard]] bool all_gone() const {
    for (int i = 0; i < 150 && !processes("").empty(); ++i) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    return processes("").empty();
  }
};

}  // namespace roundtrip::ring
