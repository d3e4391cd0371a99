#pragma once

#include <string>
#include <vector>

#include "ring/pvm/child.hpp"

namespace roundtrip::ring {

/// PVM's daemon on this node under a `pvm-guard`, which ends it with this, or with this process.
class GuardedDaemon {
 public:
  /// `arguments`: what `pvm-guard` takes after the daemon's path. Throws Failure(usage) if there
  /// is no daemon, or no process can be started.
  explicit GuardedDaemon(const std::vector<std::string>& arguments);
  ~GuardedDaemon();
  GuardedDaemon(const GuardedDaemon&) = delete;
  GuardedDaemon& operator=(const GuardedDaemon&) = delete;

  /// The next line that the guard says. Throws Failure(usage) if it has given up.
  [[nodiscard]] std::string listen() const;
  void tell(const std::string& line) const;

 private:
  Child guard_;  ///< stops the daemon when its input is closed
};

/// Where PVM is installed: $PVM_ROOT, else Debian's folder.
std::string pvm_root();

}  // namespace roundtrip::ring
