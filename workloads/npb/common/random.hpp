#pragma once

#include <cstdint>

namespace roundtrip::npb {

/// NPB's linear congruential generator: x_{k+1} = a x_k mod 2^46, a = 5^13, value x_k / 2^46
/// (RNR-94-007, section 2.3). Any position is reached in O(log n).
class Random {
 public:
  static constexpr std::uint64_t multiplier = 1'220'703'125;  // 5^13
  static constexpr std::uint64_t mask = (std::uint64_t{1} << 46U) - 1;
  static constexpr double unit = 1.0 / static_cast<double>(mask + 1);

  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  /// The next value, in (0, 1).
  constexpr double next() {
    state_ = multiplier * state_ & mask;
    return static_cast<double>(static_cast<std::int64_t>(state_)) * unit;
  }

  /// Skips `n` values.
  constexpr void skip(std::uint64_t n) { state_ = power(n) * state_ & mask; }

  [[nodiscard]] constexpr std::uint64_t state() const { return state_; }

  /// a^n mod 2^46.
  static constexpr std::uint64_t power(std::uint64_t n) {
    std::uint64_t result = 1;
    for (std::uint64_t square = multiplier; n != 0; n /= 2, square = square * square & mask) {
      if (n % 2 != 0) result = result * square & mask;
    }
    return result;
  }

 private:
  std::uint64_t state_;
};

/// The seed of all benchmarks except EP.
inline constexpr std::uint64_t common_seed = 314'159'265;

}  // namespace roundtrip::npb
