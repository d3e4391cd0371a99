#include "core/simulation.hpp"

#include <nlohmann/json.hpp>

#ifdef SMPI_H

#include <simgrid/host.h>
#include <simgrid/version.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <xbt/config.hpp>

#include "core/failure.hpp"

namespace roundtrip {
namespace {

constexpr const char* platform = "ROUNDTRIP_SIMULATED_PLATFORM";
constexpr const char* platform_sha256 = "ROUNDTRIP_SIMULATED_PLATFORM_SHA256";
constexpr const char* host_flops = "ROUNDTRIP_SIMULATED_HOST_FLOPS";

std::optional<std::string> from_environment(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

nlohmann::ordered_json text_or_null(const std::optional<std::string>& text) {
  return text ? nlohmann::ordered_json(*text) : nlohmann::ordered_json(nullptr);
}

std::string version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  const std::string text = std::to_string(major) + '.' + std::to_string(minor);
  return patch == 0 ? text : text + '.' + std::to_string(patch);
}

/// From the platform description, flop/s.
double speed_of_this_host() {
  return sg_host_get_speed(sg_host_self());
}

}  // namespace

nlohmann::ordered_json describe_simulation() {
  return {{"simgrid", version()},
          {"platform", text_or_null(from_environment(platform))},
          {"platform_sha256", text_or_null(from_environment(platform_sha256))},
          {"host_flops", speed_of_this_host()}};
}

void require_reproducible_simulation() {
  if (simgrid::config::get_value<bool>("smpi/simulate-computation")) {
    throw Failure(Exit::usage,
                  "SimGrid would add the time that this machine takes to compute: run it with "
                  "smpirun --cfg=smpi/simulate-computation:no");
  }
  const auto declared = from_environment(host_flops);
  if (!declared) return;
  constexpr double rounding = 1e-9;
  double flops = 0;
  const char* last = declared->data() + declared->size();
  const auto [end, error] = std::from_chars(declared->data(), last, flops);
  const double speed = speed_of_this_host();
  if (error == std::errc() && end == last && std::abs(flops - speed) <= rounding * speed) {
    return;
  }
  throw Failure(Exit::usage, std::string(host_flops) + " is " + *declared +
                                 ", but a host of the platform does " +
                                 nlohmann::json(speed).dump() + " flop/s");
}

}  // namespace roundtrip

#else

namespace roundtrip {

nlohmann::ordered_json describe_simulation() {
  return nullptr;
}

void require_reproducible_simulation() {}

}  // namespace roundtrip

#endif
