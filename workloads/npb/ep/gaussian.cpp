#include "npb/ep/gaussian.hpp"

#include <algorithm>
#include <cmath>

#include "npb/common/random.hpp"

namespace roundtrip::npb::ep {
namespace {

constexpr std::size_t block = 2048;  // pairs: their numbers fit in the L1 cache
constexpr std::size_t lanes = 16;    // independent streams of the generator

/// Makes the next 2 * block numbers of the sequence, scaled to (-1, 1). Lane l makes every lanes-th
/// number, starting at l.
class Numbers {
 public:
  explicit Numbers(std::uint64_t state) {
    for (std::uint64_t& lane : state_) {
      state = Random::multiplier * state & Random::mask;
      lane = state;
    }
  }

  void fill(double* __restrict numbers) {
    constexpr std::uint64_t stride = Random::power(lanes);
    for (std::size_t i = 0; i < 2 * block; i += lanes) {
      for (std::size_t l = 0; l < lanes; ++l) {
        numbers[i + l] =
            2 * Random::unit * static_cast<double>(static_cast<std::int64_t>(state_[l])) - 1;
        state_[l] = stride * state_[l] & Random::mask;
      }
    }
  }

 private:
  std::array<std::uint64_t, lanes> state_{};
};

/// The polar method (Knuth 3.4.1 C). Pairs outside of the unit circle are rejected: they add 0 to
/// the sums and are not counted.
struct Deviates {
  alignas(64) std::array<double, block> largest;  ///< max(|X|, |Y|), or -1 if the pair was rejected

  void make(const double* __restrict numbers, double& sum_x, double& sum_y) {
    double of_x = 0;
    double of_y = 0;
    for (std::size_t i = 0; i < block; ++i) {
      const double x = numbers[2 * i];
      const double y = numbers[2 * i + 1];
      const double t = x * x + y * y;
      const bool inside = t <= 1;
      const double factor = std::sqrt(-2 * std::log(inside ? t : 1) / t);
      of_x += x * factor;
      of_y += y * factor;
      largest[i] = inside ? std::max(std::abs(x), std::abs(y)) * factor : -1;
    }
    sum_x += of_x;
    sum_y += of_y;
  }

  /// Number of deviates with max(|X|, |Y|) >= level.
  [[nodiscard]] std::int64_t at_least(double level) const {
    std::int64_t count = 0;
    for (const double value : largest) count += value >= level ? 1 : 0;
    return count;
  }
};

}  // namespace

void add_deviates(std::uint64_t state, std::int64_t pairs, Tally& tally) {
  Numbers generator(state);
  alignas(64) std::array<double, 2 * block> numbers{};
  Deviates deviates{};
  for (std::int64_t done = 0; done < pairs; done += block) {
    generator.fill(numbers.data());
    deviates.make(numbers.data(), tally.sum_x, tally.sum_y);
    std::int64_t outside = deviates.at_least(0);
    for (std::size_t l = 0; l < annuli && outside > 0; ++l) {
      const std::int64_t beyond = deviates.at_least(static_cast<double>(l + 1));
      tally.counts[l] += outside - beyond;
      outside = beyond;
    }
  }
}

}  // namespace roundtrip::npb::ep
