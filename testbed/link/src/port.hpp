// A network interface, read and written as raw frames (AF_PACKET) with a VnetHeader, so that GSO
// super-frames pass in one piece, and with the kernel's time of arrival.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "descriptor.hpp"
#include "frame.hpp"
#include "frame_pool.hpp"

namespace rtlink {

class Port {
 public:
  // std::system_error if there is no such interface or no right to open it.
  Port(std::string name, std::size_t index);

  // Hands all frames that have arrived to `sink`, each with size, port and arrival.
  void receive(FramePool& pool, const std::function<void(Frame)>& sink);

  // False if the kernel did not take the frame.
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
