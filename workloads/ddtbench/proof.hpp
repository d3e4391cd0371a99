#pragma once

#include <cstddef>
#include <optional>

#include "ddtbench/method.hpp"

namespace roundtrip::ddtbench {

/// Before a timed batch: what is sent holds the message numbered `seed` + rank, what is received
/// holds wrong data.
void prepare(const Transfer& transfer, const Ends& ends, bool collective, unsigned seed);

/// After the batch: index of the first received 4-byte word that is not what the sender had.
/// What ping-pong receives in place it also returns, so that all of it comes from rank 0.
std::optional<std::size_t> check(const Transfer& transfer, const Ends& ends, bool collective,
                                 unsigned seed);

/// Collective over the ends: one exchange there and one back, each into memory with wrong data
/// right before, each checked in full. `method` must be created. Index as above, on the rank
/// concerned.
std::optional<std::size_t> prove(Method& method, const Ends& ends, bool collective, unsigned seed);

}  // namespace roundtrip::ddtbench
