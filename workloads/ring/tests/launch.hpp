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

namespace roundtrip::ring {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

class RingLaunch : public testing::Test {
 public:
  RingLaunch(const RingLaunch&) = delete;
  RingLaunch& operator=(const RingLaunch&) = delete;

 protected:
  RingLaunch() {
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                             "OMPI_MCA_rmaps_base_oversubscribe"}) {
      setenv(name, "1", 1);
    }
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
    std::string name = (fs::temp_directory_path() / "ring_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  ~RingLaunch() override {
    unsetenv("TMPDIR");
    fs::remove_all(folder_);
  }

  [[nodiscard]] std::string command(int ranks, const std::string& flags,
                                    const std::string& program) const {
    return "cd " + folder_.string() + " && exec timeout 60 " MPIRUN " -n " + std::to_string(ranks) +
           ' ' + program + " --samples samples.csv " + flags + " > out 2> err";
  }

  [[nodiscard]] Ended run(int ranks, const std::string& flags,
                          const std::string& program = RING) const {
    return ended(std::system(command(ranks, flags, program).c_str()));
  }

  [[nodiscard]] Ended ended(int status) const {
    return {.code = WEXITSTATUS(status), .out = text_of(in("out")), .err = text_of(in("err"))};
  }

  [[nodiscard]] fs::path in(const std::string& name) const { return folder_ / name; }

  /// Processes of this launch: those that work in its folder.
  [[nodiscard]] std::vector<pid_t> processes(const std::string& program) const {
    std::vector<pid_t> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::error_code gone;
      if (fs::read_symlink(entry.path() / "cwd", gone) != folder_ || gone) continue;
      const fs::path executable = fs::read_symlink(entry.path() / "exe", gone);
      if (!gone && (program.empty() || executable == program)) found.push_back(std::stoi(name));
    }
    return found;
  }

  /// Whether no process of this launch is left, after a while: a launcher may leave first.
  [[nodiscard]] bool all_gone() const {
    for (int i = 0; i < 150 && !processes("").empty(); ++i) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    return processes("").empty();
  }

 private:
  fs::path folder_;
};

}  // namespace roundtrip::ring
