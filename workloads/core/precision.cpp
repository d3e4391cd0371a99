#include "core/precision.hpp"

#include <CLI/CLI.hpp>
#include <cmath>

#include "core/failure.hpp"

namespace roundtrip {

void Precision::declare(CLI::App& app) {
  app.add_option("--precision", percent,
                 "Percent of the median that its 95 % interval may reach to either side")
      ->capture_default_str();
}

void Precision::check() const {
  if (std::isfinite(percent) && percent > 0) return;
  throw Failure(Exit::usage, "--precision: must be a positive percentage");
}

}  // namespace roundtrip
