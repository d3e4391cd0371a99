#include "core/recorder.hpp"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "core/sha256.hpp"

namespace roundtrip {
namespace {

void append_number(std::string& text, double value) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), result.ptr);
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::vector<double>& Recorder::open(const SeriesKey& key) {
  return series_.emplace_back(Series{key, {}}).samples;
}

std::size_t Recorder::rows() const {
  std::size_t count = 0;
  for (const Series& series : series_) count += series.samples.size();
  return count;
}

std::string Recorder::csv(const nlohmann::ordered_json& header) const {
  std::string text;
  for (const auto& [key, value] : header.items()) {
    text += "# " + key + ": " + json_text(value) + '\n';
  }
  text += "study,case,variant,size_bytes,phase,rep,metric,value,unit\n";
  for (const auto& [key, samples] : series_) {
    const std::string before = csv_field(key.study) + ',' + csv_field(key.case_name) + ',' +
                               csv_field(key.variant) + ',' + std::to_string(key.size_bytes) + ',' +
                               csv_field(key.phase) + ',';
    const std::string between = ',' + csv_field(key.metric.name) + ',';
    const std::string after = ',' + csv_field(key.metric.unit) + '\n';
    for (std::size_t rep = 0; rep < samples.size(); ++rep) {
      text += before;
      text += std::to_string(rep);
      text += between;
      append_number(text, samples[rep]);
      text += after;
    }
  }
  return text;
}

nlohmann::ordered_json Recorder::seal(std::string_view csv_text) const {
  nlohmann::ordered_json counts = nlohmann::ordered_json::array();
  for (const auto& [key, samples] : series_) {
    if (samples.empty()) continue;
    counts.push_back({{"case", key.case_name},
                      {"variant", key.variant},
                      {"size_bytes", key.size_bytes},
                      {"phase", key.phase},
                      {"metric", key.metric.name},
                      {"samples", samples.size()}});
  }
  return {{"rows", rows()}, {"sha256", sha256(csv_text)}, {"counts", counts}};
}

}  // namespace roundtrip
