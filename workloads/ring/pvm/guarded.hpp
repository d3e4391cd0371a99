#pragma once

#include <string>
#include <vector>

#include "ring/pvm/child.hpp"

namespace roundtrip::ring {

/// PVM's daemon on this node under a `pvm-guard`, which ends it with this object or this process.
class GuardedDaemon {
 public:
  /// `arguments`: those of `pvm-guard` after the daemon's path. Throws Failure(usage) if there is
  /// no daemon, or no process can be started.
  explicit GuardedDaemon(const std::vector<std::string>& arguments);
  ~GuardedDaemon();
  GuardedDaemon(const GuardedDaemon&) = delete;
  GuardedDaemon& operator=(const GuardedDaemon&) = delete;

  /// The guard's next line of output. Throws Failure(usage) if the guard has ended.
  [[nodiscard]] std::string listen() const;
  void tell(const std::string& line) const;

 private:
  Child guard_;  ///< stops the daemon when its input is closed
};

/// Folder of PVM: $PVM_ROOT, else the one found at build time.
std::string pvm_root();

}  // namespace roundtrip::ring
