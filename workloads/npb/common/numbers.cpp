#include "npb/common/numbers.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace roundtrip::npb {
namespace {

std::string scientific(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*e", digits, value);
  return text.data();
}

}  // namespace

double relative_error(double computed, double published) {
  const double error = std::abs((computed - published) / published);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

std::string fortran_e(double value, int digits) {
  std::string text = scientific(value, digits - 1);  // d.dddde+xx
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  const int exponent = value == 0 ? 0 : std::stoi(text.substr(e + 1)) + 1;
  std::string mantissa = text.substr(0, e);
  const std::string sign = mantissa[0] == '-' ? "-" : "";
  std::erase_if(mantissa, [](char c) { return c == '-' || c == '.'; });
  std::array<char, 16> power{};
  std::snprintf(power.data(), power.size(), "E%+03d", exponent);
  return sign + "0." + mantissa + power.data();
}

std::string grid_size(int nx, int ny, int nz) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%4dx%4dx%4d", nx, ny, nz);
  return text.data();
}

std::string fortran_d(double value, int digits) {
  std::string text = scientific(value, digits);
  const std::size_t e = text.find('e');
  if (e != std::string::npos) text[e] = 'D';
  return text;
}

}  // namespace roundtrip::npb
