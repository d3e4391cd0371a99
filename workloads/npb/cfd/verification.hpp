#pragma once

#include <vector>

#include "npb/cfd/exact.hpp"

namespace roundtrip::npb::cfd {

/// Results of a benchmark: norms for each equation.
struct Norms {
  State residual;
  State error;
};

/// Root mean squares over the inner points of an n^3 grid.
State root_mean(const State& sum_of_squares, int n);

/// The history of a run: one number for the change in each step, and one for the residual at the
/// end. Each is the root mean square of five norms, each divided by its published residual.
/// `change`: for each step the five sums of squares over all ranks.
std::vector<double> history(const std::vector<double>& change, const State& residual,
                            const Norms& published, int n);

/// Prints both results and their relative errors, as NPB does; true if all agree within 1e-8.
bool compare(const Norms& computed, const Norms& published, char problem_class, bool print);

/// The same for one number.
bool compare(const char* title, double computed, double published, bool print);

}  // namespace roundtrip::npb::cfd
