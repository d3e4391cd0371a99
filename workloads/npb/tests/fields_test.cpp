#include "npb/cfd/fields.hpp"

#include <gtest/gtest.h>

namespace roundtrip::npb::cfd {
namespace {

std::size_t numbers(const Vector& v) {
  std::size_t sum = 0;
  for (const Scalar& component : v) sum += component.size();
  return sum;
}

std::size_t numbers(const CellFields& c) {
  std::size_t sum = numbers(c.u) + numbers(c.rhs) + numbers(c.forcing);
  sum += c.derived.inverse_density.size() + c.derived.kinetic.size();
  for (const Scalar& component : c.derived.velocity) sum += component.size();
  return sum;
}

/// Each of `side`^2 ranks has `side` cells with n / side points in each direction.
TEST(Fields, TakeTheBytesThatAreExpected) {
  constexpr int n = 12;
  for (const int side : {1, 2, 3}) {
    const int own = n / side;
    const Cell cell(n, {0, 0, 0}, {own, own, own});
    const std::size_t all = static_cast<std::size_t>(side) * numbers(CellFields(cell));
    EXPECT_EQ(Fields::bytes(n, side), static_cast<double>(all * sizeof(double))) << side;
  }
}

}  // namespace
}  // namespace roundtrip::npb::cfd
