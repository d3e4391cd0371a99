#pragma once

#include <stdexcept>
#include <string>

namespace roundtrip {

/// Exit status of every workload.
enum class Exit : int { ok = 0, internal = 1, usage = 2, wrong_data = 3 };

/// A message of one line to the user, and its exit status.
/// Thrown inside agree() on one rank, it reaches all ranks.
class Failure : public std::runtime_error {
 public:
  Failure(Exit code, const std::string& what) : std::runtime_error(what), code_(code) {}
  [[nodiscard]] Exit code() const { return code_; }

 private:
  Exit code_;
};

}  // namespace roundtrip
