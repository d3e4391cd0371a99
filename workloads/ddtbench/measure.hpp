#pragma once

#include <functional>
#include <vector>

#include "ddtbench/method.hpp"

namespace roundtrip::ddtbench {

/// Durations by epoch, seconds, as rank 0 saw them. `pack`, `communication` and `unpack` with the
/// same index are of the same exchange; the first and last are empty for a method without packing.
struct Samples {
  std::vector<double> create;  ///< one an outer iteration
  std::vector<double> pack;
  std::vector<double> communication;  ///< includes what the other rank does: unpack and pack
  std::vector<double> unpack;
  std::vector<double> free;  ///< one an outer iteration
  /// Again right after, as in the original, where a method follows on itself: the code and the
  /// allocator are then in cache, which other methods push out when all take turns.
  std::vector<double> create_again;
  std::vector<double> free_again;

  /// The whole of exchange `i`: there and back, with all packing on both ranks.
  [[nodiscard]] double round_trip(std::size_t i) const;
};

/// One outer iteration of the study's measurement loop.
struct Outer {
  int warm = 1;   ///< exchanges before the timed ones
  int inner = 1;  ///< timed exchanges
  /// Once buffers and types are there; then once all exchanges are done. Not timed.
  std::function<void()> before, after;
  /// Before each exchange, not timed; empty: exchange follows on exchange, as in the original.
  std::function<void()> between;
};

/// Collective over the ends. Rank 0 takes all times: each stamp is the time since the last one.
/// Ping-pong: rank 1 unpacks and packs again before it replies, inside rank 0's `communication`.
/// All-to-all is there and back too, with unpack and pack between, inside `communication` likewise.
void measure(Method& method, const MethodInfo& info, const Ends& ends, bool collective,
             const Outer& outer, Samples& samples);

}  // namespace roundtrip::ddtbench
