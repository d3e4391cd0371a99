#include "npb/cg/products.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "npb/cg/solver.hpp"
#include "npb/common/numbers.hpp"

namespace roundtrip::npb::cg {
namespace {

// Class S.
constexpr int n = 1400;
constexpr int nonzeros = 7;
constexpr double shift = 10;
constexpr double published_zeta = 8.5971775078648;

class EachProduct : public testing::TestWithParam<Product> {
 protected:
  Comm comm_{MPI_COMM_WORLD};
  Layout layout_{n, comm_.rank(), comm_.size()};
};

TEST_P(EachProduct, IsTheMatrixTimesTheVector) {
  const SparseBlock block = make_matrix(layout_, n, nonzeros, shift);
  std::vector<double> p(static_cast<std::size_t>(layout_.column_end() - layout_.column_begin()));
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = std::sin(static_cast<double>(i));
  std::vector<double> w(static_cast<std::size_t>(block.rows()));
  GetParam().multiply(block, p.data(), w.data());
  for (std::size_t row = 0; row < w.size(); ++row) {
    long double sum = 0;
    for (auto k = static_cast<std::size_t>(block.first[row]);
         k < static_cast<std::size_t>(block.first[row + 1]); ++k) {
      sum +=
          static_cast<long double>(block.value[k]) * p[static_cast<std::size_t>(block.column[k])];
    }
    EXPECT_NEAR(w[row], static_cast<double>(sum), 1e-13) << "row " << row;
  }
}

TEST_P(EachProduct, FindsThePublishedZeta) {
  constexpr int iterations = 15;
  const Product& product = GetParam();
  Solver solver(comm_, layout_, make_matrix(layout_, n, nonzeros, shift), 0, {&product, 1});
  std::vector<double> x(static_cast<std::size_t>(layout_.column_end() - layout_.column_begin()), 1);
  std::vector<double> z(x.size());
  double zeta = 0;
  for (int i = 0; i < iterations; ++i) {
    solver.solve(x, z);
    std::array<double, 2> products{dot(x, z), dot(z, z)};
    solver.sum_over_row(products);
    zeta = shift + 1 / products[0];
    for (std::size_t j = 0; j < x.size(); ++j) x[j] = z[j] / std::sqrt(products[1]);
  }
  EXPECT_LE(relative_error(zeta, published_zeta), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Cg, EachProduct, testing::ValuesIn(products().begin(), products().end()));

TEST(Solver, ChoosesOneOfTheProducts) {
  Comm comm(MPI_COMM_WORLD);
  const Layout layout(n, comm.rank(), comm.size());
  const Solver solver(comm, layout, make_matrix(layout, n, nonzeros, shift), 0);
  EXPECT_EQ(solver.choice().ways.size(), products().size());
  EXPECT_LT(solver.choice().chosen, products().size());
  for (const double seconds : solver.choice().seconds) EXPECT_GT(seconds, 0);
}

}  // namespace
}  // namespace roundtrip::npb::cg
