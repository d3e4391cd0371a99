#include "ring/table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

namespace roundtrip::ring {
namespace {

std::string cell(const PointResult& result) {
  if (!result.estimate) return result.status == Status::bounded ? "bounded " : "- ";
  constexpr double microseconds = 1e6;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f%c", result.estimate->median * microseconds,
                result.status == Status::converged ? ' ' : '*');
  return text.data();
}

std::string right_aligned(const std::string& text) {
  constexpr std::size_t width = 12;
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

}  // namespace

std::string median_table(const std::vector<std::string>& names,
                         const std::vector<PointResult>& results) {
  std::map<std::int64_t, std::map<std::string, std::string>> lines;
  for (const PointResult& result : results) lines[result.size][result.variant] = cell(result);
  std::string table = right_aligned("bytes ");
  for (const auto& name : names) table += right_aligned(name + ' ');
  table += '\n';
  for (auto& [size, cells] : lines) {
    table += right_aligned(std::to_string(size) + ' ');
    for (const auto& name : names) {
      table += right_aligned(cells.contains(name) ? cells[name] : "- ");
    }
    table += '\n';
  }
  return table;
}

}  // namespace roundtrip::ring
