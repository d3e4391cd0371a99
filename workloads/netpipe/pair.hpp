#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/arm.hpp"
#include "netpipe/buffers.hpp"

namespace roundtrip::netpipe {

/// One batch: what both ends do with one arm.
struct Batch {
  std::int64_t arm = 0;
  std::int64_t verify = 0;     ///< 1: first one checked exchange into poisoned buffers
  std::int64_t warm = 0;       ///< untimed exchanges before the timed ones
  std::int64_t exchanges = 0;  ///< timed exchanges; 0: none
};

/// What came out of it, over both ends.
struct Outcome {
  double seconds = 0;  ///< of the timed exchanges, or if there are none of the checked exchange
};

/// Transmitter and receiver working in step: the transmitter says what comes next in a small
/// message, both do it, the receiver reports. No message is sent while anything is timed.
class Pair {
 public:
  Pair(std::vector<Variant> variants, Peer peer, Mode mode, bool transmitter, Buffers& buffers);

  /// Receiver: does what the transmitter says until it says stop.
  void follow();

  /// Transmitter: the next batches are of messages of this size.
  void begin_size(std::int64_t size);

  /// Transmitter: does the batches in the order given. One outcome a batch; throws
  /// Failure(wrong_data) naming variant, size and element, after which only stop() may follow.
  std::vector<Outcome> round(const std::vector<Batch>& batches);

  /// Transmitter: the receiver may leave.
  void stop();

 private:
  struct Result {
    double checked_s = 0;
    double timed_s = 0;
    std::optional<Mismatch> mismatch;
  };

  Result execute(const Batch& batch);
  std::optional<Mismatch> verify(const Arm& arm);
  void synchronise() const;
  void require_right(const Batch& batch, const Result& result, const char* end) const;

  std::vector<Variant> variants_;
  std::vector<std::unique_ptr<Arm>> arms_;
  Peer peer_;
  Mode mode_;
  bool transmitter_;
  Buffers& buffers_;
};

}  // namespace roundtrip::netpipe
