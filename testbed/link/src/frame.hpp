// A frame on its way through the link.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "time.hpp"

namespace rtlink {

// A VnetHeader, an Ethernet header and up to 64 KiB of a GSO super-frame.
inline constexpr std::size_t kBufferSize = std::size_t{66} * 1024;
using Buffer = std::array<std::byte, kBufferSize>;

struct Frame {
  std::unique_ptr<Buffer> buffer;
  std::size_t size = 0;     // bytes in the buffer, virtio_net_hdr included
  double wire_bits = 0;     // size on the wire, see wire_size.hpp
  std::size_t port = 0;     // port of arrival
  Nanoseconds arrival = 0;  // time of arrival in the kernel
  bool lost = false;        // occupies the wire, but is not delivered
};

struct Delivery {
  Frame frame;
  Nanoseconds due = 0;
};

}  // namespace rtlink
