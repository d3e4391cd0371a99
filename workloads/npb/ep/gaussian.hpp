#pragma once

#include <array>
#include <cstdint>

namespace roundtrip::npb::ep {

inline constexpr std::size_t annuli = 10;

/// Sums over Gaussian deviates (X, Y), and their number in each square annulus
/// l <= max(|X|, |Y|) < l + 1.
struct Tally {
  double sum_x = 0;
  double sum_y = 0;
  std::array<std::int64_t, annuli> counts{};
};

/// Adds the deviates from `pairs` pairs of random numbers to `tally`. The first random number
/// follows the generator's state `state`. `pairs` is a multiple of 2048.
void add_deviates(std::uint64_t state, std::int64_t pairs, Tally& tally);

}  // namespace roundtrip::npb::ep
