// Size of a frame on an Ethernet wire.
#pragma once

#include <cstddef>
#include <span>

namespace rtlink {

// Bits of `packet` (a VnetHeader followed by an Ethernet frame): the frame, at least 60 bytes, with
// preamble (8 bytes), FCS (4) and inter-frame gap (12).  Of a GSO super-frame, each segment has
// these three and its headers.  The packet must hold a VnetHeader and an Ethernet header.
double wire_bits(std::span<const std::byte> packet);

}  // namespace rtlink
