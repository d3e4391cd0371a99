#pragma once

#include <array>
#include <cmath>

namespace roundtrip::npb::cfd {

/// Operations of a step for each inner point of the grid, by purpose.
struct Work {
  double residual;
  std::array<double, 3> eliminate;   ///< along x, y, z
  std::array<double, 3> substitute;  ///< along x, y, z
  double change;
  std::array<double, 4> between;  ///< before the lines along x, y and z, and after z
};

/// Whether the shares of a step add up to 1.
constexpr bool add_up(const Work& shares) {
  double sum = shares.residual + shares.change;
  for (const double one : shares.eliminate) sum += one;
  for (const double one : shares.substitute) sum += one;
  for (const double one : shares.between) sum += one;
  constexpr double rounding = 1e-12;
  return sum > 1 - rounding && sum < 1 + rounding;
}

/// Divides `operations` of a step on an n^3 grid by `shares`, for each inner point.
inline Work share_out(double operations, int n, const Work& shares) {
  const double each = operations / std::pow(n - 2, 3);
  Work work = shares;
  for (double* one : {&work.residual, &work.change}) *one *= each;
  for (double& one : work.eliminate) one *= each;
  for (double& one : work.substitute) one *= each;
  for (double& one : work.between) one *= each;
  return work;
}

}  // namespace roundtrip::npb::cfd
