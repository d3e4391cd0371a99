#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

namespace roundtrip::netpipe {

/// Location of messages: always the same, so that they stay in cache, or spread over pools.
enum class Layout { same, no_cache };

/// What the two ends do in one exchange.
enum class Mode {
  pingpong,      ///< one message there, one back
  stream,        ///< one message there
  bidirectional  ///< one message each way at once
};

/// Byte offsets from the 16 KiB boundary.
struct Offsets {
  std::size_t send = 0;
  std::size_t receive = 0;
};

/// A received byte that differs from the sent one.
struct Mismatch {
  std::size_t element = 0;
  unsigned char got = 0;
  unsigned char expected = 0;
};

/// Steps through the slots for messages; trivial to copy, made for the inner loop.
struct Walk {
  char* send = nullptr;
  char* receive = nullptr;
  std::size_t stride = 0;
  std::size_t slots = 1;
  std::size_t slot = 0;

  [[nodiscard]] char* out() const { return send + slot * stride; }
  [[nodiscard]] char* in() const { return receive + slot * stride; }
  void step() { slot = slot + 1 < slots ? slot + 1 : 0; }
};

/// Walk for one slot: the addresses are constant.
struct Fixed {
  char* send = nullptr;
  char* receive = nullptr;

  [[nodiscard]] char* out() const { return send; }
  [[nodiscard]] char* in() const { return receive; }
  void step() const {}
};

/// The memory of one rank's messages, filled with known data.
///
/// Layout `same`: one place at a 16 KiB boundary. It is both send and receive buffer, as in
/// NetPIPE, unless messages travel both ways at once (which MPI forbids on one buffer) or the
/// offsets differ. Layout `no_cache`: pools of 10 MB (or one message, if that is larger) to send
/// and to receive, used in steps of the size rounded up to 16 KiB.
class Buffers {
 public:
  /// Room for messages of up to `largest` bytes. Throws std::bad_alloc.
  Buffers(Layout layout, Mode mode, Offsets offsets, std::size_t largest, bool transmitter);

  /// Lays out messages of `size` bytes: fills the send slots, poisons separate receive slots.
  void prepare(std::size_t size);

  /// Slot 0, before and after the one exchange that verifies the transport.
  void fill_outgoing() const;
  void poison_incoming() const;
  [[nodiscard]] std::optional<Mismatch> check_incoming() const;

  /// Checks the messages that the last `exchanges` exchanges received, except overwritten ones.
  [[nodiscard]] std::optional<Mismatch> check_last(std::int64_t exchanges) const;

  /// No-cache layout: touches 10 MB of other memory.
  void evict();

  [[nodiscard]] Layout layout() const { return layout_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Walk& walk() { return walk_; }
  [[nodiscard]] Fixed fixed() const { return {.send = walk_.send, .receive = walk_.receive}; }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<char, Free>;
  static Memory allocate(std::size_t bytes);

  [[nodiscard]] std::span<char> outgoing(std::size_t slot) const;
  [[nodiscard]] std::span<char> incoming(std::size_t slot) const;
  [[nodiscard]] std::optional<Mismatch> check(std::size_t slot) const;
  [[nodiscard]] unsigned seed(bool of_transmitter) const;

  Layout layout_;
  bool transmitter_;
  bool shared_;  ///< one buffer to send and receive: the receiver returns what it got
  std::size_t pool_;
  Memory send_memory_;
  Memory receive_memory_;
  Memory scratch_;
  std::size_t size_ = 0;
  Walk walk_;
};

}  // namespace roundtrip::netpipe
