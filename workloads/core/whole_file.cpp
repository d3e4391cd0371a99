#include "core/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "core/failure.hpp"

namespace roundtrip {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& reason) {
  throw Failure(Exit::usage, "cannot write " + path.string() + ": " + reason);
}

/// The temporary file of `path`; removed unless it was published.
class Partial {
 public:
  explicit Partial(const fs::path& path) : path_(path), name_(path.string() + ".partial") {
    if (std::error_code error; fs::exists(path, error) && !fs::is_regular_file(path, error)) {
      fail(path, "not a regular file");
    }
    constexpr mode_t mode = 0666;
    descriptor_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (descriptor_ < 0) fail_with_errno();
  }
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;
  ~Partial() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!published_) unlink(name_.c_str());
  }

  void append(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_with_errno();
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void publish() {
    // A network file system may report a full disk only here.
    if (fsync(descriptor_) != 0 && errno != EINVAL) fail_with_errno();
    const int closed = close(descriptor_);
    descriptor_ = -1;
    if (closed != 0 || std::rename(name_.c_str(), path_.c_str()) != 0) fail_with_errno();
    published_ = true;
  }

 private:
  [[noreturn]] void fail_with_errno() const { fail(path_, std::generic_category().message(errno)); }

  fs::path path_;
  std::string name_;
  int descriptor_ = -1;
  bool published_ = false;
};

}  // namespace

void write_whole(const fs::path& path, std::string_view text) {
  Partial partial(path);
  partial.append(text);
  partial.publish();
}

void require_writable(const fs::path& path) {
  const Partial partial(path);
}

}  // namespace roundtrip
