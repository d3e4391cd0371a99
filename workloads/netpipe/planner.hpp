#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace roundtrip::netpipe {

/// Predicts how long one exchange of an arm takes at a size not yet measured.
class CostModel {
 public:
  /// One exchange of `size` bytes took `seconds`. The best time of a size counts.
  void observe(std::int64_t size, double seconds);

  /// Linear between observed sizes, proportional to the size above them, constant below. Needs at
  /// least one observation.
  [[nodiscard]] double exchange_s(std::int64_t size) const;

  [[nodiscard]] bool empty() const { return seen_.empty(); }
  /// Whether a size so small was seen; the time of a smaller one is only known to be no longer.
  [[nodiscard]] bool reaches(std::int64_t size) const {
    return !seen_.empty() && seen_.begin()->first <= size;
  }

 private:
  std::map<std::int64_t, double> seen_;
};

/// Fewest timed batches of a point: the least for which a 95 % interval of the median exists.
inline constexpr std::size_t fewest_samples = 6;

/// Batches of one arm at one size, from the duration of one exchange.
class BatchPlan {
 public:
  /// `shortest_s`: what a batch must last for the clock to be fine enough.
  explicit BatchPlan(double shortest_s) : shortest_s_(shortest_s) {}

  /// Exchanges of a timed batch.
  [[nodiscard]] std::int64_t exchanges(double exchange_s) const;
  /// Untimed exchanges before it; none for long exchanges, which they would make twice as costly.
  [[nodiscard]] std::int64_t warm(double exchange_s) const;
  /// Exchanges so long that one checked exchange is warm-up enough.
  [[nodiscard]] static bool is_long(double exchange_s) { return exchange_s >= 2e-3; }
  /// Seconds for a batch, untimed exchanges included.
  [[nodiscard]] double batch_s(double exchange_s) const;
  /// Seconds for a point, warm-up included.
  [[nodiscard]] double point_s(double exchange_s, std::size_t samples = fewest_samples) const;

 private:
  double shortest_s_;
};

/// What a point may cost, lest its arm be bounded, in seconds. `costs`: what each point left, one
/// arm at one size, would cost at least. The dearest are given up until the others need no more
/// than half the time left. Points that cost at most `never_bounded_s` are not given up.
double dearest_point_s(double time_left_s, std::vector<double> costs, double never_bounded_s);

}  // namespace roundtrip::netpipe
