// A frame on its way through the link, its size on the wire, and the buffers that hold frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "system.hpp"

namespace rtlink {

// The header that PACKET_VNET_HDR puts before each frame (virtio 1.2, section 5.1.6, without
// num_buffers).  <linux/virtio_net.h> also defines it, but does not compile as C++.
inline constexpr std::uint8_t kGsoNone = 0;

struct VnetHeader {
  std::uint8_t flags;
  std::uint8_t gso_type;
  std::uint16_t hdr_len;   // of all headers, Ethernet included
  std::uint16_t gso_size;  // payload of a segment
  std::uint16_t csum_start;
  std::uint16_t csum_offset;
};
static_assert(sizeof(VnetHeader) == 10);

// A VnetHeader, an Ethernet header and up to 64 KiB of a GSO super-frame.
inline constexpr std::size_t kBufferSize = std::size_t{66} * 1024;
using Buffer = std::array<std::byte, kBufferSize>;

struct Frame {
  std::unique_ptr<Buffer> buffer;
  std::size_t size = 0;     // bytes in the buffer, virtio_net_hdr included
  double wire_bits = 0;     // size on the wire, see below
  std::size_t port = 0;     // port of arrival
  Nanoseconds arrival = 0;  // time of arrival in the kernel
  bool lost = false;        // occupies the wire, but is not delivered
};

struct Delivery {
  Frame frame;
  Nanoseconds due = 0;
};

// Bits of `packet` (a VnetHeader followed by an Ethernet frame): the frame, at least 60 bytes, with
// preamble (8 bytes), FCS (4) and inter-frame gap (12).  Of a GSO super-frame, each segment has
// these three and its headers.  The packet must hold a VnetHeader and an Ethernet header.
double wire_bits(std::span<const std::byte> packet);

// Reuses buffers: a new buffer of 66 KiB costs page faults, which delay frames.
class FramePool {
 public:
  std::unique_ptr<Buffer> take();
  void give_back(std::unique_ptr<Buffer> buffer);

 private:
  std::vector<std::unique_ptr<Buffer>> free_;
};

}  // namespace rtlink
