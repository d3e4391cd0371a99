#pragma once

#include <cstddef>
#include <cstring>

namespace roundtrip::ddtbench {

/// Copies one piece of a size known to the compiler: a pair of moves, no call.
template <std::size_t Bytes>
inline void copy_piece(char* to, const char* from) {
  std::memcpy(to, from, Bytes);
}

/// Copies at least `Bytes` in pieces of that size. The last piece ends where the run ends and
/// overlaps the previous piece, so that no loop over single values remains.
template <std::size_t Bytes>
inline void copy_pieces(char* to, const char* from, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + Bytes < bytes; i += Bytes) copy_piece<Bytes>(to + i, from + i);
  copy_piece<Bytes>(to + bytes - Bytes, from + bytes - Bytes);
}

/// Copies a short run of whole floats, at least one; a call of memcpy would cost more than the
/// copy.
inline void copy_run(void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  if (bytes >= 32) return copy_pieces<32>(out, in, bytes);
  if (bytes >= 16) return copy_pieces<16>(out, in, bytes);
  if (bytes >= 8) return copy_pieces<8>(out, in, bytes);
  copy_piece<4>(out, in);
}

}  // namespace roundtrip::ddtbench
