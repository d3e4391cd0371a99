#include "npb/cfd/verification.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "npb/common/numbers.hpp"

namespace roundtrip::npb::cfd {
namespace {

constexpr double tolerance = 1e-8;
constexpr int digits = 13;

bool compare_number(double computed, double published, const char* label, bool print) {
  const double error = relative_error(computed, published);
  if (print) {
    std::printf("%12s %19s %19s %19s\n", label, fortran_e(computed, digits).c_str(),
                fortran_e(published, digits).c_str(), fortran_e(error, digits).c_str());
  }
  return error <= tolerance;
}

bool compare_states(const char* title, const State& computed, const State& published, bool print) {
  constexpr std::array<const char*, equations> numbers = {"1", "2", "3", "4", "5"};
  if (print) std::printf(" Comparison of %s\n", title);
  bool agree = true;
  for (std::size_t m = 0; m < equations; ++m) {
    agree = compare_number(computed[m], published[m], numbers[m], print) && agree;
  }
  return agree;
}

double magnitude(const State& norms, const State& scale) {
  double sum = 0;
  for (std::size_t m = 0; m < equations; ++m) sum += std::pow(norms[m] / scale[m], 2);
  return std::sqrt(sum / equations);
}

}  // namespace

State root_mean(const State& sum_of_squares, int n) {
  State norm{};
  for (std::size_t m = 0; m < equations; ++m) {
    norm[m] = std::sqrt(sum_of_squares[m] / std::pow(n - 2, 3));
  }
  return norm;
}

std::vector<double> history(const std::vector<double>& change, const State& residual,
                            const Norms& published, int n) {
  std::vector<double> values;
  for (std::size_t i = 0; i + equations <= change.size(); i += equations) {
    State sums{};
    std::copy_n(change.begin() + static_cast<std::ptrdiff_t>(i), equations, sums.begin());
    values.push_back(magnitude(root_mean(sums, n), published.residual));
  }
  values.push_back(magnitude(residual, published.residual));
  return values;
}

bool compare(const Norms& computed, const Norms& published, char problem_class, bool print) {
  if (print) {
    std::printf("\n Verification being performed for class %c\n", problem_class);
    std::printf(" Accuracy setting for epsilon = %s\n", fortran_e(tolerance, digits).c_str());
  }
  const bool residual =
      compare_states("RMS-norms of residual", computed.residual, published.residual, print);
  const bool error =
      compare_states("RMS-norms of solution error", computed.error, published.error, print);
  return residual && error;
}

bool compare(const char* title, double computed, double published, bool print) {
  if (print) std::printf(" Comparison of %s\n", title);
  return compare_number(computed, published, "", print);
}

}  // namespace roundtrip::npb::cfd
