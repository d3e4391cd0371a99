#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace roundtrip::npb {

/// A number that every iteration computes, and how far a correct run may deviate from the recorded
/// number, relative to it; 0: exact.
struct Quantity {
  const char* name;
  double tolerance;
};

/// What verified runs of a class computed in each iteration.
struct History {
  std::vector<Quantity> quantities;
  std::vector<double> values;  ///< iterations x quantities

  [[nodiscard]] std::size_t iterations() const { return values.size() / quantities.size(); }
};

/// The histories of the recorded classes.
using Histories = std::map<char, History>;

/// Where a run deviates from the recorded history.
struct Deviation {
  std::size_t iteration = 0;  ///< from 1
  std::string quantity;
  double computed = 0;
  double recorded = 0;
  double allowed = 0;  ///< difference

  /// `deviates at iteration 3: zeta 8.5 instead of 8.6, 1e-12 apart at most`.
  [[nodiscard]] std::string text() const;
};

/// The first number of `computed` (iterations x quantities) that deviates from the recorded one;
/// none if all agree. If one history is longer, the run deviates after the end of the shorter one.
std::optional<Deviation> first_deviation(const History& recorded, std::span<const double> computed);

}  // namespace roundtrip::npb
