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
  std::string parameters;  ///< as text, e.g. `N=1020`
  std::size_t bytes = 0;   ///< of one message
  std::function<std::unique_ptr<MicroApp>()> make;
};

using Catalogue = std::vector<Case>;

/// Cases to measure.
struct Selection {
  std::vector<std::string> apps;  ///< names, as in app_names()
  bool largest_only = false;      ///< only the largest message of each app
};

/// The study's cases of the selected apps, in the study's order: 69 cases if all apps are selected;
/// FFT for `ranks` ranks. Throws Failure(usage) if FFT's matrix cannot be divided among them.
Catalogue select(const Selection& selection, int ranks);

/// Names of the 16 micro-apps, in the study's order.
std::vector<std::string> app_names();

}  // namespace roundtrip::ddtbench
