#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "ring/shared_memory.hpp"
#include "ring/topology.hpp"

namespace roundtrip::ring {

/// Ends this process with an error as soon as another rank of its node dies, whatever it is waiting
/// for then. Costs nothing meanwhile: a thread sleeps until the kernel tells it. Collective to
/// make.
class PeerWatch {
 public:
  explicit PeerWatch(const Topology& topology);
  /// From now on this rank may leave without alarming the others.
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
  std::vector<int> files_;  ///< of each rank of the node: readable when it ends; then one to stop
  Peer* self_;
  std::thread thread_;
};

}  // namespace roundtrip::ring
