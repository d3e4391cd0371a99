#pragma once

#include <cstddef>
#include <cstring>

namespace roundtrip::ddtbench {

/// Copies one piece of compile-time size: compiles to moves, not to a call.
template <std::size_t Bytes>
inline void copy_piece(char* to, const char* from) {
  std::memcpy(to, from, Bytes);
}

/// Copies `bytes`, at least `Bytes`, in pieces of `Bytes`. The last piece overlaps the previous one
/// to end with the run, so that no loop over single values remains.
template <std::size_t Bytes>
inline void copy_pieces(char* to, const char* from, std::size_t bytes) {
  std::size_t i = 0;
  for (; i + Bytes < bytes; i += Bytes) copy_piece<Bytes>(to + i, from + i);
  copy_piece<Bytes>(to + bytes - Bytes, from + bytes - Bytes);
}

/// Copies a short run of one or more floats. A call of memcpy would cost more than the copy.
inline void copy_run(void* to, const void* from, std::size_t bytes) {
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  if (bytes >= 32) return copy_pieces<32>(out, in, bytes);
  if (bytes >= 16) return copy_pieces<16>(out, in, bytes);
  if (bytes >= 8) return copy_pieces<8>(out, in, bytes);
  copy_piece<4>(out, in);
}

}  // namespace roundtrip::ddtbench
