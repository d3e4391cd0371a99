// The header that PACKET_VNET_HDR puts before each frame (virtio 1.2, section 5.1.6, without
// num_buffers).  <linux/virtio_net.h> also defines it, but does not compile as C++.
#pragma once

#include <cstdint>

namespace rtlink {

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

}  // namespace rtlink
