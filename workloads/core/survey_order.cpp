#include "core/survey_order.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace roundtrip {
namespace {

std::vector<std::size_t> spread_over(const std::vector<std::size_t>& places) {
  std::vector<std::size_t> order;
  order.reserve(places.size());
  for (const std::size_t place : spread(places.size())) order.push_back(places[place]);
  return order;
}

}  // namespace

std::vector<std::size_t> spread(std::size_t count) {
  std::vector<std::size_t> order;
  if (count == 0) return order;
  order.push_back(0);
  if (count == 1) return order;
  order.push_back(count - 1);
  // Breadth first: the halves of a gap come after all gaps of its own width.
  std::deque<std::pair<std::size_t, std::size_t>> gaps = {{0, count - 1}};
  while (!gaps.empty()) {
    const auto [low, high] = gaps.front();
    gaps.pop_front();
    if (high - low < 2) continue;
    const std::size_t middle = low + (high - low) / 2;
    order.push_back(middle);
    gaps.emplace_back(low, middle);
    gaps.emplace_back(middle, high);
  }
  return order;
}

SurveyOrder survey_order(const std::vector<std::int64_t>& sizes,
                         const std::function<bool(std::size_t)>& may_be_coarse) {
  constexpr std::int64_t factor = 4;
  std::vector<std::size_t> grid;
  std::size_t last = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!may_be_coarse(i)) continue;
    last = i;
    if (grid.empty() || sizes[i] >= factor * sizes[grid.back()]) grid.push_back(i);
  }
  if (!grid.empty() && grid.back() != last) grid.push_back(last);
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!std::ranges::binary_search(grid, i)) rest.push_back(i);
  }
  return {.coarse = spread_over(grid), .fine = spread_over(rest)};
}

}  // namespace roundtrip
