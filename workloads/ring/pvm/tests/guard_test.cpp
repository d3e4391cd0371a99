// Tests of PVM's daemon under its guard: its end, and the error if it does not start.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "core/failure.hpp"
#include "ring/pvm/guarded.hpp"

namespace roundtrip::ring {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// A folder for the files of a test, with a PVM whose daemon is a script.
class Guard : public testing::Test {
 public:
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 protected:
  Guard() {
    std::string name = (fs::temp_directory_path() / "guard_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    setenv("TMPDIR", folder_.c_str(), 1);
    setenv("FOLDER", folder_.c_str(), 1);
  }
  ~Guard() override {
    for (const char* name : {"TMPDIR", "FOLDER", "PVM_ROOT"}) unsetenv(name);
    fs::remove_all(folder_);
  }

  void make_daemon(const std::string& script) const {
    const fs::path file = folder_ / "lib" / "pvmd";
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "#!/bin/sh\n" << script;
    fs::permissions(file, fs::perms::owner_all);
    setenv("PVM_ROOT", folder_.c_str(), 1);
  }

  [[nodiscard]] std::string text_of(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  fs::path folder_;
};

TEST_F(Guard, EndsTheDaemonByASignalThatItCanActOn) {
  make_daemon(
      "trap 'echo orderly > $FOLDER/end; exit' TERM\n"
      ": > $PVM_TMP/pvmd.$(id -u)\n"
      "while :; do sleep 0.02; done\n");
  {
    const GuardedDaemon daemon({});
    EXPECT_TRUE(fs::exists(daemon.listen()));
  }
  EXPECT_EQ(text_of("end"), "orderly\n");
}

TEST_F(Guard, ThatIsGoneIsAFailureAndNoSignal) {
  make_daemon("echo broken >&2\nexit 1\n");
  const GuardedDaemon daemon({});
  EXPECT_THROW(static_cast<void>(daemon.listen()), Failure);
  // The guard's input may close a moment later than its output.
  const auto hears_us = [&daemon] {
    try {
      daemon.tell("anybody?");
    } catch (const Failure&) {
      return false;
    }
    return true;
  };
  int sent = 0;
  constexpr int most = 500;
  for (; sent < most && hears_us(); ++sent) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_LT(sent, most);
}

}  // namespace
}  // namespace roundtrip::ring
