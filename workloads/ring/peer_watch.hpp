#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "ring/shared_memory.hpp"
#include "ring/topology.hpp"

namespace roundtrip::ring {

/// Ends this process with an error as soon as another rank of its node dies, whatever this rank
/// waits for. The thread sleeps in poll() until then. Construction is collective.
class PeerWatch {
 public:
  explicit PeerWatch(const Topology& topology);
  /// From now on this rank may end without ending the others.
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

 private:
  struct Peer {
    std::atomic<int> process{0};
    std::atomic<int> rank{0};
    std::atomic<bool> leaving{false};
  };
  void watch() const;

  SharedMemory memory_;
  Peer* peers_;
  std::vector<int> files_;  ///< pidfds of the node's ranks, then an eventfd that stops the thread
  Peer* self_;
  std::thread thread_;
};

}  // namespace roundtrip::ring
