#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace roundtrip::npb {

/// A result of each iteration, and its tolerance relative to the recorded value; 0: exact.
struct Quantity {
  const char* name;
  double tolerance;
};

/// Values of each iteration, recorded from verified runs of a class.
struct History {
  std::vector<Quantity> quantities;
  std::vector<double> values;  ///< iterations x quantities

  [[nodiscard]] std::size_t iterations() const { return values.size() / quantities.size(); }
};

/// The histories of the recorded classes.
using Histories = std::map<char, History>;

/// A deviation of a run from the recorded history.
struct Deviation {
  std::size_t iteration = 0;  ///< from 1
  std::string quantity;
  double computed = 0;
  double recorded = 0;
  double allowed = 0;  ///< largest difference

  /// `deviates at iteration 3: zeta 8.5 instead of 8.6, 1e-12 apart at most`.
  [[nodiscard]] std::string text() const;
};

/// The first deviation of `computed` (iterations x quantities) from the recorded values; empty if
/// all agree. Histories of different lengths deviate after the end of the shorter one.
std::optional<Deviation> first_deviation(const History& recorded, std::span<const double> computed);

}  // namespace roundtrip::npb
