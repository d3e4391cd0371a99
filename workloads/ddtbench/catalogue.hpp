#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ddtbench/micro_app.hpp"

namespace roundtrip::ddtbench {

/// A micro-app with one set of parameters.
struct Case {
  std::string app;         ///< as in the study, e.g. `NAS_LU_x`
  std::string parameters;  ///< for people, e.g. `N=1020`
  std::size_t bytes = 0;   ///< of one message
  std::function<std::unique_ptr<MicroApp>()> make;
};

using Catalogue = std::vector<Case>;

/// Which cases to measure.
struct Selection {
  std::vector<std::string> apps;  ///< names, as in app_names()
  bool largest_only = false;      ///< only the largest message of each app
};

/// The micro-apps of the study with its parameter sets, in its order: 69 cases if all apps are
/// selected; FFT for `ranks` ranks. Throws Failure(usage) if FFT's matrix cannot be divided.
Catalogue select(const Selection& selection, int ranks);

/// The 16 names, in the study's order.
std::vector<std::string> app_names();

}  // namespace roundtrip::ddtbench
