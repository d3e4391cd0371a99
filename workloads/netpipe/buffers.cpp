#include "netpipe/buffers.hpp"

#include <algorithm>
#include <new>

#include "core/pattern.hpp"

namespace roundtrip::netpipe {
namespace {

constexpr std::size_t alignment = 16'384;
constexpr std::size_t pool_bytes = 10'000'000;

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

Buffers::Memory Buffers::allocate(std::size_t bytes) {
  auto* memory = static_cast<char*>(std::aligned_alloc(alignment, aligned(bytes)));
  if (memory == nullptr) throw std::bad_alloc();
  // Touched here, so that no page fault falls into a measurement.
  std::fill_n(memory, bytes, 'a');
  return Memory(memory);
}

Buffers::Buffers(Layout layout, Mode mode, Offsets offsets, std::size_t largest, bool transmitter)
    : layout_(layout),
      transmitter_(transmitter),
      shared_(layout == Layout::same && mode != Mode::bidirectional &&
              offsets.send == offsets.receive),
      pool_(layout == Layout::same ? largest : std::max(pool_bytes, largest)) {
  send_memory_ = allocate(pool_ + offsets.send);
  walk_.send = send_memory_.get() + offsets.send;
  if (shared_) {
    walk_.receive = walk_.send;
  } else {
    receive_memory_ = allocate(pool_ + offsets.receive);
    walk_.receive = receive_memory_.get() + offsets.receive;
  }
  if (layout == Layout::no_cache) scratch_ = allocate(pool_bytes);
}

void Buffers::prepare(std::size_t size) {
  size_ = size;
  walk_.stride = aligned(size);
  walk_.slots = layout_ == Layout::same ? 1 : std::max<std::size_t>(1, pool_ / walk_.stride);
  walk_.slot = 0;
  for (std::size_t slot = 0; slot < walk_.slots; ++slot) {
    if (!shared_) fill_poison(incoming(slot), seed(!transmitter_));
    fill_pattern(outgoing(slot), seed(shared_ || transmitter_));
  }
}

void Buffers::fill_outgoing() const {
  fill_pattern(outgoing(0), seed(shared_ || transmitter_));
}

void Buffers::poison_incoming() const {
  fill_poison(incoming(0), seed(shared_ || !transmitter_));
}

std::optional<Mismatch> Buffers::check_incoming() const {
  return check(0);
}

std::optional<Mismatch> Buffers::check_last(std::int64_t exchanges) const {
  const auto count = std::min(walk_.slots, static_cast<std::size_t>(exchanges));
  for (std::size_t back = 1; back <= count; ++back) {
    if (auto mismatch = check((walk_.slot + walk_.slots - back) % walk_.slots)) return mismatch;
  }
  return std::nullopt;
}

void Buffers::evict() {
  constexpr std::size_t cache_line = 64;
  volatile char* scratch = scratch_.get();
  for (std::size_t i = 0; i < pool_bytes; i += cache_line) {
    scratch[i] = static_cast<char>(scratch[i] + 1);
  }
}

std::span<char> Buffers::outgoing(std::size_t slot) const {
  return {walk_.send + slot * walk_.stride, size_};
}

std::span<char> Buffers::incoming(std::size_t slot) const {
  return {walk_.receive + slot * walk_.stride, size_};
}

std::optional<Mismatch> Buffers::check(std::size_t slot) const {
  const unsigned expected_seed = seed(shared_ || !transmitter_);
  const auto element = first_mismatch(incoming(slot), expected_seed);
  if (!element) return std::nullopt;
  return Mismatch{
      .element = *element,
      .got = static_cast<unsigned char>(incoming(slot)[*element]),
      .expected = static_cast<unsigned char>(pattern_byte(*element, expected_seed)),
  };
}

unsigned Buffers::seed(bool of_transmitter) const {
  // Depends on the size, so that data of the previous size is wrong.
  return static_cast<unsigned>(2 * size_) + (of_transmitter ? 0 : 1);
}

}  // namespace roundtrip::netpipe
