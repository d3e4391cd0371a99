#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace roundtrip {

namespace fs = std::filesystem;

inline std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A launch that has ended: its exit status, and what it wrote.
struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

/// Whole launches, in a folder of their own. The test's target defines MPIRUN, and PATIENCE: how
/// many times as long as usual everything may take. Timings are never looked at.
class LaunchTest : public testing::Test {
 public:
  LaunchTest(const LaunchTest&) = delete;
  LaunchTest& operator=(const LaunchTest&) = delete;

 protected:
  LaunchTest() {
    // As root, and with more ranks than cores: Open MPI wants a confirmation (4.x, then 5.x).
    for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                             "OMPI_MCA_rmaps_base_oversubscribe"}) {
      setenv(name, "1", 1);
    }
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
    std::string name = (fs::temp_directory_path() / "launch_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~LaunchTest() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path in(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] const fs::path& folder() const { return folder_; }

  /// For a shell, which becomes the launcher: so many ranks of a program with its flags, at most
  /// for so many seconds, PATIENCE times.  No path may have a single quote.
  [[nodiscard]] std::string shell_line(int ranks, const std::string& program,
                                       const std::string& flags, int seconds) const {
    return "cd '" + folder_.string() + "' && exec timeout " + std::to_string(PATIENCE * seconds) +
           " '" MPIRUN "' -n " + std::to_string(ranks) + " '" + program + "' " + flags +
           " > out 2> err";
  }

  [[nodiscard]] Ended run_line(const std::string& line) const {
    const int status = std::system(line.c_str());
    return {.code = WEXITSTATUS(status), .out = text_of(in("out")), .err = text_of(in("err"))};
  }

 private:
  fs::path folder_;
};

}  // namespace roundtrip
