#pragma once

#include <cstddef>

#include "ring/topology.hpp"

namespace roundtrip::ring {

/// Memory mapped by all ranks of a node. It has no name in a file system, so the kernel frees it
/// however the processes end.
class SharedMemory {
 public:
  /// Collective over all ranks. Zeroed; aligned to a page. Throws Failure(usage) on every rank if a
  /// node lacks the memory.
  SharedMemory(const Topology& topology, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  void map(const Topology& topology);

  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace roundtrip::ring
