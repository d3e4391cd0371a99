#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

namespace roundtrip::npb {

/// Communication patterns. A slow link affects each pattern differently.
enum class Pattern : std::uint8_t {
  exchange,   ///< pairwise, both ways at once: faces of a grid, parts of a vector
  pipeline,   ///< one way, each rank waits for its predecessor
  transpose,  ///< every rank to every rank
  reduction,  ///< sums and maxima over all ranks
};
inline constexpr std::size_t patterns = 4;
inline constexpr std::array<const char*, patterns> pattern_names = {"exchange", "pipeline",
                                                                    "transpose", "reduction"};

/// Messages sent by a rank, and its time in MPI, receiving and waiting included.
struct Traffic {
  double seconds = 0;
  std::int64_t messages = 0;  ///< a reduction counts once, a transpose once for each other rank
  std::int64_t bytes = 0;
};

/// Traffic of all patterns.
using TrafficByPattern = std::array<Traffic, patterns>;

/// Number of messages of each size in bytes, for each pattern.
using MessageSizes = std::array<std::map<std::int64_t, std::int64_t>, patterns>;

}  // namespace roundtrip::npb
