#pragma once

#include <cstdint>

namespace roundtrip {

/// Bytes that the open TCP connections of this process to other hosts have sent and that arrived
/// there, by the kernel's count (tcp(7), TCP_INFO). 0 where it does not count them.
std::uint64_t tcp_bytes();

}  // namespace roundtrip
