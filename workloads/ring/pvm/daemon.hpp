#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "ring/circle.hpp"

namespace roundtrip::ring {

/// A PVM daemon of this launch's own, and all ranks enrolled with it as tasks. One at a time.
class PvmDaemon {
 public:
  /// Collective, all ranks in one node. Throws Failure(usage) on every rank if there is no daemon
  /// to start, or it does not.
  explicit PvmDaemon(const Circle& circle);
  ~PvmDaemon();
  PvmDaemon(const PvmDaemon&) = delete;
  PvmDaemon& operator=(const PvmDaemon&) = delete;

  /// PVM's name of a rank.
  [[nodiscard]] int task(int rank) const { return tasks_[static_cast<std::size_t>(rank)]; }

 private:
  std::string start();
  void stop() const;

  std::vector<int> tasks_;
  pid_t guard_ = -1;
  int lifeline_ = -1;  ///< the guard stops the daemon when this is closed
};

}  // namespace roundtrip::ring
