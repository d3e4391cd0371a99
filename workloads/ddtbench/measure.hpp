#pragma once

#include <functional>
#include <vector>

#include "ddtbench/method.hpp"

namespace roundtrip::ddtbench {

/// Durations of each epoch on rank 0, in seconds. `pack`, `communication` and `unpack` with the
/// same index are of the same exchange; `pack` and `unpack` are empty for a method without packing.
struct Samples {
  std::vector<double> create;  ///< one per outer iteration
  std::vector<double> pack;
  std::vector<double> communication;  ///< includes the other rank's unpack and pack
  std::vector<double> unpack;
  std::vector<double> free;  ///< one per outer iteration
  /// Immediate repetitions of both, with code and allocator in cache, as in the original, which
  /// repeats one method. Here the methods take turns and evict each other from the cache.
  std::vector<double> create_again;
  std::vector<double> free_again;

  /// Round trip of exchange `i`, seconds, including packing on both ranks.
  [[nodiscard]] double round_trip(std::size_t i) const;
};

/// One outer iteration of the study's measurement loop.
struct Outer {
  int warm = 1;   ///< exchanges before the timed ones
  int inner = 1;  ///< timed exchanges
  /// Called after the creation of buffers and types, and after all exchanges. Not timed.
  std::function<void()> before, after;
  /// Called before each timed exchange, itself not timed. If empty, exchanges follow each other
  /// directly, as in the original.
  std::function<void()> between;
};

/// Collective over the ends. Rank 0 takes all times; each is the time since the previous stamp.
/// Ping-pong: rank 1 unpacks and packs again before it replies, inside rank 0's `communication`.
/// All-to-all also goes there and back, with unpack and pack in between, inside `communication`.
void measure(Method& method, const MethodInfo& info, const Ends& ends, bool collective,
             const Outer& outer, Samples& samples);

}  // namespace roundtrip::ddtbench
