// Reuses buffers: a new buffer of 66 KiB costs page faults, which delay frames.
#pragma once

#include <memory>
#include <vector>

#include "frame.hpp"

namespace rtlink {

class FramePool {
 public:
  std::unique_ptr<Buffer> take();
  void give_back(std::unique_ptr<Buffer> buffer);

 private:
  std::vector<std::unique_ptr<Buffer>> free_;
};

}  // namespace rtlink
