#include "npb/common/history.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace roundtrip::npb {

std::string Deviation::text() const {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), ": %s %.15g instead of %.15g, %.2g apart at most",
                quantity.c_str(), computed, recorded, allowed);
  return "deviates at iteration " + std::to_string(iteration) + text.data();
}

std::optional<Deviation> first_deviation(const History& recorded,
                                         std::span<const double> computed) {
  const std::size_t width = recorded.quantities.size();
  const std::size_t both = std::min(recorded.values.size(), computed.size());
  for (std::size_t i = 0; i < both; ++i) {
    const Quantity& quantity = recorded.quantities[i % width];
    const double wanted = recorded.values[i];
    const double allowed = quantity.tolerance * std::abs(wanted);
    if (std::abs(computed[i] - wanted) <= allowed) continue;
    return Deviation{i / width + 1, quantity.name, computed[i], wanted, allowed};
  }
  if (recorded.values.size() == computed.size()) return std::nullopt;
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  return Deviation{both / width + 1, "number of iterations", nothing, nothing, 0};
}

}  // namespace roundtrip::npb
