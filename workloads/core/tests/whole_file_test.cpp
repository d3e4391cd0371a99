#include "core/whole_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "core/failure.hpp"

namespace roundtrip {
namespace {

namespace fs = std::filesystem;

class WholeFile : public testing::Test {
 protected:
  WholeFile() {
    std::string name = (fs::temp_directory_path() / "whole_file_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path path() const { return folder_ / "samples.csv"; }
  [[nodiscard]] fs::path partial() const { return folder_ / "samples.csv.partial"; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Error message of write_whole; empty if it succeeds.
  [[nodiscard]] std::string complaint(const fs::path& path, const std::string& text) const {
    try {
      write_whole(path, text);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), Exit::usage);
      return failure.what();
    }
    return "";
  }

 private:
  fs::path folder_;
};

TEST_F(WholeFile, ReplacesWhatWasThere) {
  write_whole(path(), "old and long");
  write_whole(path(), "new");
  EXPECT_EQ(text(), "new");
  EXPECT_FALSE(fs::exists(partial()));
}

TEST_F(WholeFile, AFullDiskLeavesTheOldFile) {
  write_whole(path(), "old");
  fs::create_symlink("/dev/full", partial());
  EXPECT_EQ(complaint(path(), "new"),
            "cannot write " + path().string() + ": No space left on device");
  EXPECT_EQ(text(), "old");
  EXPECT_FALSE(fs::exists(fs::symlink_status(partial())));
}

TEST_F(WholeFile, NamesFileAndReason) {
  const fs::path nowhere = path().parent_path() / "none" / "samples.csv";
  EXPECT_EQ(complaint(nowhere, "x"),
            "cannot write " + nowhere.string() + ": No such file or directory");
  EXPECT_EQ(complaint("/dev/full", "x"), "cannot write /dev/full: not a regular file");
  EXPECT_THROW(require_writable(nowhere), Failure);
}

TEST_F(WholeFile, AskingLeavesNothingBehind) {
  require_writable(path());
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_FALSE(fs::exists(partial()));
}

}  // namespace
}  // namespace roundtrip
