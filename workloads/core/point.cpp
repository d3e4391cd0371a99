#include "core/point.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

namespace roundtrip {
namespace {

const char* text_of(Status status) {
  constexpr std::array<const char*, 4> words{"converged", "budget", "bounded", "refused"};
  return words.at(static_cast<std::size_t>(status));
}

std::string cell(const PointResult& result) {
  if (!result.estimate) return result.status == Status::bounded ? "bounded " : "- ";
  constexpr double microseconds = 1e6;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f%c", result.estimate->median * microseconds,
                result.status == Status::converged ? ' ' : '*');
  return text.data();
}

std::string right_aligned(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace

nlohmann::ordered_json point_record(const std::string& case_name, const PointResult& result) {
  nlohmann::ordered_json point = {{"case", case_name},
                                  {"variant", result.variant},
                                  {"size_bytes", result.size},
                                  {"samples", result.samples},
                                  {"batch", result.batch},
                                  {"median_s", nullptr},
                                  {"ci_relative_half_width", nullptr},
                                  {"status", text_of(result.status)},
                                  {"verified", result.samples > 0}};
  if (result.estimate) {
    point["median_s"] = result.estimate->median;
    if (const auto width = result.estimate->relative_half_width) {
      point["ci_relative_half_width"] = *width;
    }
  }
  return point;
}

std::string median_table(const std::vector<std::string>& variants,
                         const std::vector<PointResult>& results, std::size_t width) {
  std::map<std::int64_t, std::map<std::string, std::string>> lines;
  for (const PointResult& result : results) lines[result.size][result.variant] = cell(result);
  std::string table = right_aligned("bytes ", width);
  for (const auto& variant : variants) table += right_aligned(variant + ' ', width);
  table += '\n';
  for (auto& [size, cells] : lines) {
    table += right_aligned(std::to_string(size) + ' ', width);
    for (const auto& variant : variants) {
      table += right_aligned(cells.contains(variant) ? cells[variant] : "- ", width);
    }
    table += '\n';
  }
  return table;
}

}  // namespace roundtrip
