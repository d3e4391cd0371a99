#pragma once

#include <cstddef>
#include <optional>

#include "ddtbench/method.hpp"

namespace roundtrip::ddtbench {

/// Before a timed batch: writes the message numbered `seed` + rank to where data are sent from, and
/// wrong data to where data are received.
void prepare(const Transfer& transfer, const Ends& ends, bool collective, unsigned seed);

/// After the batch: returns the index of the first received 4-byte word that is not what was sent.
/// If ping-pong receives in place, rank 1 returns what it received, so that all data are rank 0's.
std::optional<std::size_t> check(const Transfer& transfer, const Ends& ends, bool collective,
                                 unsigned seed);

/// Collective over the ends: makes one exchange there and one back. Each receives into memory that
/// held wrong data just before, and is checked in full. `method` must be created. Returns an index
/// as above, on the rank that received the wrong word.
std::optional<std::size_t> prove(Method& method, const Ends& ends, bool collective, unsigned seed);

}  // namespace roundtrip::ddtbench
