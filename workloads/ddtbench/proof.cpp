#include "ddtbench/proof.hpp"

namespace roundtrip::ddtbench {
namespace {

unsigned seed_of(unsigned seed, int rank) {
  return seed + static_cast<unsigned>(rank);
}

/// Expects one message from `rank`.
Expected from(const Region& received, unsigned seed, int rank) {
  return {.block_words = received.words(), .first_word = 0, .first_seed = seed_of(seed, rank)};
}

/// Expects from each rank the block that is meant for this rank.
Expected from_all(const Region& received, const Ends& ends, unsigned seed) {
  const std::size_t block = received.words() / static_cast<std::size_t>(ends.size);
  return {.block_words = block,
          .first_word = block * static_cast<std::size_t>(ends.rank),
          .first_seed = seed};
}

Expected expected(const Transfer& transfer, const Ends& ends, bool collective, unsigned seed) {
  if (collective) return from_all(transfer.received, ends, seed);
  return from(transfer.received, seed, transfer.in_place ? 0 : ends.peer());
}

std::optional<std::size_t> prove_all_to_all(Method& method, const Ends& ends, unsigned seed) {
  const Transfer transfer = method.transfer();
  prepare(transfer, ends, true, seed);
  method.pack();
  method.exchange();
  method.unpack();
  return check(transfer, ends, true, seed);
}

}  // namespace

void prepare(const Transfer& transfer, const Ends& ends, bool collective, unsigned seed) {
  const bool sends_own = collective || !transfer.in_place || ends.rank == 0;
  if (!transfer.in_place || !sends_own) {
    transfer.received.poison(expected(transfer, ends, collective, seed));
  }
  if (sends_own) transfer.sent.fill(seed_of(seed, ends.rank));
}

std::optional<std::size_t> check(const Transfer& transfer, const Ends& ends, bool collective,
                                 unsigned seed) {
  return transfer.received.first_mismatch(expected(transfer, ends, collective, seed));
}

std::optional<std::size_t> prove(Method& method, const Ends& ends, bool collective, unsigned seed) {
  if (collective) {
    const auto there = prove_all_to_all(method, ends, seed);
    method.turn();
    const auto back = prove_all_to_all(method, ends, seed + static_cast<unsigned>(ends.size));
    method.turn();
    return there ? there : back;
  }
  const Transfer transfer = method.transfer();
  const Expected message = from(transfer.received, seed, ends.peer());
  const auto send = [&] {
    transfer.sent.fill(seed_of(seed, ends.rank));
    method.pack();
    method.send();
  };
  const auto receive = [&] {
    method.receive();
    method.unpack();
    return transfer.received.first_mismatch(message);
  };
  if (ends.rank == 0) {
    send();
    transfer.received.poison(message);
    return receive();
  }
  transfer.received.poison(message);
  const auto mismatch = receive();
  send();
  return mismatch;
}

}  // namespace roundtrip::ddtbench
