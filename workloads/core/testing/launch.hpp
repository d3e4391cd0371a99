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

/// Exit status and output of a finished launch.
struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs whole launches in a temporary folder. The test's target defines MPIRUN, and PATIENCE, the
/// factor on all time limits. Timings are not checked.
class LaunchTest : public testing::Test {
 public:
  LaunchTest(const LaunchTest&) = delete;
  LaunchTest& operator=(const LaunchTest&) = delete;

 protected:
  LaunchTest() {
    // Open MPI needs these to run as root and with more ranks than cores (4.x, then 5.x).
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

  /// Command of a shell, which becomes the launcher: `ranks` ranks of `program` with `flags`, for
  /// at most PATIENCE * `seconds` seconds. No path may have a single quote.
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
