// What a frame occupies on an Ethernet wire.
#pragma once

#include <cstddef>
#include <span>

namespace rtlink {

// Bits of `packet` (a VnetHeader followed by an Ethernet frame): every segment that a GSO
// super-frame stands for has its headers, preamble (8 bytes), FCS (4) and inter-frame gap (12), and
// at least 60 bytes.  The packet must hold a VnetHeader and an Ethernet header.
double wire_bits(std::span<const std::byte> packet);

}  // namespace rtlink
