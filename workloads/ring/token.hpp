#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "core/clock.hpp"
#include "core/pattern.hpp"
#include "ring/reading.hpp"
#include "ring/transport.hpp"

namespace roundtrip::ring {

/// The first bytes of a token count its passes; the others hold a pattern.
inline constexpr std::size_t counter_bytes = sizeof(std::uint64_t);

inline std::uint64_t count_of(const char* token) {
  std::uint64_t count = 0;
  std::memcpy(&count, token, sizeof count);
  return count;
}

inline void set_count(char* token, std::uint64_t count) {
  std::memcpy(token, &count, sizeof count);
}

/// The loop around every transport that moves bytes. A `Port` is a class with
///   Port(const Topology&, std::size_t most, std::size_t heap)   collective
///   void begin(std::size_t bytes)   rank 0 holds a token of `bytes` bytes, other ranks none
///   char* held()                    rank 0: the bytes of that token
///   void put()                      passes on the token of the last get() or begin()
///   char* get()                     waits for the token; returns its bytes, writable in place
///   void poison()                   not rank 0: fills its receive buffer with wrong bytes
///   std::optional<std::string> fault() const   error of the transport, else empty
/// and, if its messages are unreliable without it, a collective
///   void drain()                    waits until all puts have arrived
/// all inline, so that only the transport is timed.
template <class Port>
class PortTransport : public Transport {
 public:
  PortTransport(const Topology& topology, std::size_t most, std::size_t heap)
      : topology_(topology), port_(topology, most, heap) {}

  void begin(std::size_t bytes) override {
    bytes_ = bytes;
    port_.begin(bytes);
  }

  LapsSeen run(const Laps& laps) override {
    LapsSeen seen;
    const bool root = topology_.rank() == 0;
    if (root) token_ = port_.held();
    count_ = laps.count + static_cast<std::uint64_t>(topology_.rank());
    if (root) set_count(token_, count_);
    wrong_count_.reset();
    wrong_sum_.reset();
    if (laps.verify) verify(seen);
    const auto ahead = static_cast<std::uint64_t>(topology_.previous());  // ranks that renew before
    sum_ = laps.sum + ahead * renewals(body_bytes());
    const auto go = [&](std::int64_t count) {
      laps.read ? pass_round<true>(count) : pass_round<false>(count);
    };
    go(laps.warm);
    double start = now();
    if (laps.each) {
      for (std::int64_t lap = 0; lap < laps.timed; ++lap) {
        go(1);
        const double end = now();
        if (root) seen.seconds.push_back(end - start);
        start = end;
      }
    } else {
      go(laps.timed);
      if (root) seen.seconds.push_back(now() - start);
    }
    go(laps.closing);
    if constexpr (requires { port_.drain(); }) port_.drain();
    if (root && laps.read) seen.sum = sum_ - ahead * renewals(body_bytes());
    if (root && laps.verify) seen.sum = sum_of(body());
    if (wrong_count_ && !seen.fault) {
      seen.fault = "stale bytes: the token's count of passes is " +
                   std::to_string(wrong_count_->first) + ", expected " +
                   std::to_string(wrong_count_->second);
    }
    if (wrong_sum_ && !seen.fault) {
      seen.fault = "stale bytes: they add up to " + std::to_string(wrong_sum_->first) +
                   ", expected " + std::to_string(wrong_sum_->second);
    }
    if (auto fault = port_.fault(); fault && !seen.fault) seen.fault = fault;
    return seen;
  }

  void describe(nlohmann::ordered_json& record) const override {
    if constexpr (requires { port_.describe(record); }) port_.describe(record);
  }

 private:
  /// Laps in which every rank checks the count of passes and increments it in place; with `read`,
  /// it also checks every byte.
  template <bool read>
  void pass_round(std::int64_t laps) {
    const auto size = static_cast<std::uint64_t>(topology_.size());
    if (topology_.rank() == 0) {
      for (std::int64_t lap = 0; lap < laps; ++lap) {
        set_count(token_, count_ + 1);
        port_.put();
        token_ = port_.get();
        count_ += size;
        check_count();
        if constexpr (read) check_bytes();
      }
    } else {
      for (std::int64_t lap = 0; lap < laps; ++lap) {
        token_ = port_.get();
        check_count();
        if constexpr (read) check_bytes();
        set_count(token_, count_ + 1);
        port_.put();
        count_ += size;
      }
    }
  }

  /// Records an error and continues, so that no rank waits forever.
  void check_count() {
    const std::uint64_t count = count_of(token_);
    if (count != count_ && !wrong_count_) wrong_count_ = {count, count_};
  }

  void check_bytes() {
    const std::uint64_t sum = read_and_renew(body());
    if (sum != sum_ && !wrong_sum_) wrong_sum_ = {sum, sum_};
    sum_ += static_cast<std::uint64_t>(topology_.size()) * renewals(body_bytes());
  }

  /// A lap in which every rank checks all bytes and then writes a pattern of its own.
  void verify(LapsSeen& seen) {
    const auto rank = static_cast<unsigned>(topology_.rank());
    const auto last = static_cast<unsigned>(topology_.size()) - 1;
    if (rank == 0) {
      write(first_pattern);
      ready();
      port_.put();
      token_ = port_.get();
      check(seen, first_pattern + last);
      count_ += last + 1;
    } else {
      port_.poison();
      ready();
      token_ = port_.get();
      check(seen, first_pattern + rank - 1);
      write(first_pattern + rank);
      port_.put();
      count_ += last + 1;
    }
  }

  /// No token may arrive before the poison is written.
  void ready() const { MPI_Barrier(topology_.session().world()); }

  std::span<char> body() { return std::span(token_, bytes_).subspan(counter_bytes); }
  [[nodiscard]] std::size_t body_bytes() const { return bytes_ - counter_bytes; }

  void write(unsigned pattern) {
    set_count(token_, count_ + 1);
    fill_pattern(body(), pattern);
  }

  void check(LapsSeen& seen, unsigned pattern) {
    if (topology_.rank() != 0) check_count();
    const auto element = first_mismatch(body(), pattern);
    if (!element || seen.fault) return;
    const auto number = [](char byte) { return std::to_string(static_cast<unsigned char>(byte)); };
    seen.fault = "byte " + std::to_string(*element + counter_bytes) + " is " +
                 number(body()[*element]) + ", expected " + number(pattern_byte(*element, pattern));
  }

  static constexpr unsigned first_pattern = 11;

  const Topology& topology_;
  Port port_;
  std::size_t bytes_ = 0;
  char* token_ = nullptr;
  std::uint64_t count_ = 0;  ///< expected count at the token's next arrival here
  std::optional<std::pair<std::uint64_t, std::uint64_t>> wrong_count_;
  std::uint64_t sum_ = 0;  ///< expected sum of the body's words at the next arrival here
  std::optional<std::pair<std::uint64_t, std::uint64_t>> wrong_sum_;
};

template <class Port>
Variant variant(std::string name,
                std::optional<std::string> (*obstacle)(const Topology&) = nowhere_in_the_way) {
  return {.name = std::move(name),
          .obstacle = obstacle,
          .make = [](const Topology& topology, std::size_t most, std::size_t heap) {
            return std::make_unique<PortTransport<Port>>(topology, most, heap);
          }};
}

}  // namespace roundtrip::ring
