// What a frame occupies on an Ethernet wire.
#pragma once

#include <cstddef>
#include <span>

namespace rtlink {

// Bits of `packet` (a VnetHeader followed by an Ethernet frame).  A frame counts with at least 60
// bytes, and with preamble (8 bytes), FCS (4) and inter-frame gap (12).  For a GSO super-frame,
// each of its segments counts with these and its headers.  The packet must hold a VnetHeader and an
// Ethernet header.
double wire_bits(std::span<const std::byte> packet);

}  // namespace rtlink
