// A medium, its settings, and what a medium is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "frame.hpp"
#include "system.hpp"

namespace rtlink {

struct Settings {
  Nanoseconds delay = 0;                    // one way
  double rate = 0;                          // bit/s; 0: unlimited
  double queue_bytes = 64.0 * 1024 * 1024;  // before the wire, per direction or port
  double loss = 0;                          // probability, per frame
  std::uint64_t seed = 1;                   // of the losses
  bool up = true;

  friend bool operator==(const Settings&, const Settings&) = default;
};

// Selects the frames to lose: the same for the same seed and the same sequence of calls.
class Loss {
 public:
  // `probability` 0..1.
  void configure(double probability, std::uint64_t seed);

  bool next();

 private:
  double probability_ = 0;
  std::mt19937_64 engine_;
};

// The time at which a wire becomes free: frames follow each other, and each takes bits / rate.
class SerialClock {
 public:
  // `rate` in bit/s; 0: frames take no time.  Frames already on the wire keep their times.
  void set_rate(double rate);

  // Forgets the frames on the wire: it is free at `now`.
  void clear(Nanoseconds now) { free_at_ = now; }

  // Bytes queued ahead of a frame that arrives at `arrival`, at the present rate.
  [[nodiscard]] double backlog_bytes(Nanoseconds arrival) const;

  // Puts a frame on the wire; returns the time at which its last bit has left.
  Nanoseconds occupy(Nanoseconds arrival, double bits);

  [[nodiscard]] Nanoseconds free_at() const { return free_at_; }

 private:
  double rate_ = 0;
  Nanoseconds free_at_ = 0;
};

// A medium accepts frames as they arrive and determines when each is due at the other end.
class Medium {
 public:
  Medium() = default;
  Medium(const Medium&) = delete;
  Medium& operator=(const Medium&) = delete;
  virtual ~Medium() = default;

  // Applies to frames that come later; a new rate also to those that wait at `now`.
  virtual void configure(const Settings& settings, Nanoseconds now) = 0;

  // Moves from `frame`.  If the queue is full, returns false and leaves `frame` unchanged.
  virtual bool offer(Frame& frame) = 0;

  // Due time of the next frame; empty if there is no frame.
  virtual std::optional<Nanoseconds> next_due() = 0;

  // The next frame; empty if it is not due at `now`.
  virtual std::optional<Delivery> take_due(Nanoseconds now) = 0;
};

}  // namespace rtlink
