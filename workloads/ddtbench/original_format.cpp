#include "ddtbench/original_format.hpp"

#include <array>
#include <cstdio>

namespace roundtrip::ddtbench {
namespace {

constexpr std::array<int, 9> widths = {30, 30, 15, 20, 20, 20, 20, 20, 20};

void append_row(std::string& text, const std::array<std::string, 9>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto width = static_cast<std::size_t>(widths[i]);
    if (fields[i].size() < width) text.append(width - fields[i].size(), ' ');
    text += fields[i];
  }
  text += '\n';
}

std::string microseconds(double seconds) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.3f", seconds * 1e6);
  return digits.data();
}

}  // namespace

OriginalFormat::OriginalFormat() {
  append_row(text_, {"testname", "method", "bytes", "id", "time", "papi_evt1_type", "papi_evt1_val",
                     "papi_evt2_type", "papi_evt2_val"});
}

void OriginalFormat::add(const Case& item, const ArmResult& arm, int ranks) {
  const Samples& samples = arm.samples;
  if (samples.communication.empty() || arm.method->is_ours) return;
  const std::string name = item.app == "FFT" ? "FFT" + std::to_string(ranks) : item.app;
  const std::string method(arm.method->name);
  const auto row = [&](const char* epoch, double seconds) {
    append_row(text_, {name, method, std::to_string(item.bytes), epoch, microseconds(seconds), "NA",
                       "NA", "NA", "NA"});
  };
  // Without unpacking after the exchange, the original has only one unpack row, with time 0.
  const bool unpacks = arm.method->packs && !arm.skips_unpack;
  const auto inner = static_cast<std::size_t>(arm.inner);
  for (std::size_t first = 0; first < samples.communication.size(); first += inner) {
    if (arm.method->creates) row("ddt_create_overhead", samples.create[first / inner]);
    for (std::size_t i = first; i < first + inner; ++i) {
      if (arm.method->packs) row("pack", samples.pack[i]);
      row("communication", samples.communication[i]);
      if (unpacks) row("unpack", samples.unpack[i]);
    }
    if (arm.method->creates) row("ddt_free_overhead", samples.free[first / inner]);
  }
  if (!arm.method->creates) row("ddt_create_overhead", 0);
  if (!arm.method->packs) row("pack", 0);
  if (!unpacks) row("unpack", 0);
  if (!arm.method->creates) row("ddt_free_overhead", 0);
}

}  // namespace roundtrip::ddtbench
