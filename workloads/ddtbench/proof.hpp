#pragma once

#include <cstddef>
#include <optional>

#include "ddtbench/method.hpp"

namespace roundtrip::ddtbench {

/// Before a timed batch: writes the message numbered `seed` + rank to the memory to send from, and
/// wrong data to the memory to receive in.
void prepare(const Transfer& transfer, const Ends& ends, bool collective, unsigned seed);

/// After the batch: returns the index of the first received 4-byte word that differs from the sent
/// word. In ping-pong in place, rank 1 sends back the received data, so that all data are rank 0's.
std::optional<std::size_t> check(const Transfer& transfer, const Ends& ends, bool collective,
                                 unsigned seed);

/// Collective over the ends: makes one exchange in each direction, into memory that held wrong data
/// just before, and checks all received data. `method` must be created. Returns an index as above,
/// on the rank that received the wrong word.
std::optional<std::size_t> prove(Method& method, const Ends& ends, bool collective, unsigned seed);

}  // namespace roundtrip::ddtbench
