// A network interface, read and written as raw frames (AF_PACKET) with a VnetHeader, so that GSO
// super-frames are not split, and with the kernel's time of arrival.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frame.hpp"
#include "system.hpp"

namespace rtlink {

class Port {
 public:
  // Throws std::system_error if the interface does not exist or may not be opened.
  Port(std::string name, std::size_t index);

  // Passes all frames that have arrived to `sink`, each with size, port and arrival.
  void receive(FramePool& pool, const std::function<void(Frame)>& sink);

  // Returns false if the kernel did not accept the frame.
  [[nodiscard]] bool send(const Frame& frame) const;

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] int receive_batch(FramePool& pool, const std::function<void(Frame)>& sink);

  std::string name_;
  std::size_t index_;
  Descriptor socket_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

}  // namespace rtlink
