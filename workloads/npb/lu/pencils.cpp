#include "npb/lu/pencils.hpp"

namespace roundtrip::npb::lu {
namespace {

/// Calls visit(offset) for the points of a front: the edge of plane k at index `at` in direction d
/// (0 or 1), without points on the boundary of the grid, which are constant.
template <class Visit>
void for_each_of_edge(const cfd::Cell& cell, std::size_t d, int at, int k, const Visit& visit) {
  const std::size_t other = 1 - d;
  for (int p = cell.inner_begin(other); p < cell.inner_end(other); ++p) {
    visit(static_cast<std::size_t>(d == 0 ? cell.at(at, p, k) : cell.at(p, at, k)));
  }
}

}  // namespace

std::array<int, 2> rank_grid(int ranks) {
  int in_x = 1;
  for (int divisor = 1; divisor * divisor <= ranks; ++divisor) {
    if (ranks % divisor == 0) in_x = divisor;
  }
  return {in_x, ranks / in_x};
}

cfd::Cell Pencils::make_cell(int n, std::array<int, 2> ranks, std::array<int, 2> position) {
  std::array<int, 3> origin{0, 0, 0};
  std::array<int, 3> own{n, n, n};
  for (std::size_t d = 0; d < 2; ++d) {
    origin[d] = cfd::part_begin(n, ranks[d], position[d]);
    own[d] = cfd::part_begin(n, ranks[d], position[d] + 1) - origin[d];
  }
  return {n, origin, own};
}

Pencils::Pencils(Comm& comm, int n)
    : comm_(comm),
      ranks_(rank_grid(comm.size())),
      position_{comm.rank() % ranks_[0], comm.rank() / ranks_[0]},
      cell_(make_cell(n, ranks_, position_)) {}

std::optional<int> Pencils::neighbour(std::size_t d, int step) const {
  std::array<int, 2> at = position_;
  at[d] += step;
  if (at[d] < 0 || at[d] >= ranks_[d]) return std::nullopt;
  return at[0] + ranks_[0] * at[1];
}

void Pencils::fill_ghosts(cfd::Vector& v) {
  for (std::size_t d = 0; d < 2; ++d) {
    for (const int step : {+1, -1}) shift_layers(v, d, step);
  }
}

/// The last own layers in direction d become the ghosts of the neighbour `step` away.
void Pencils::shift_layers(cfd::Vector& v, std::size_t d, int step) {
  const int own = cell_.own()[d];
  const auto from = neighbour(d, -step);
  const auto to = neighbour(d, step);
  if (from) {
    in_.resize(cfd::layer_size(cell_, d, cfd::ghosts));
    comm_.start_receive(in_, *from, 0);
  }
  if (to) {
    const int begin = step > 0 ? own - cfd::ghosts : 0;
    out_.clear();
    cfd::pack(cell_, v, d, begin, begin + cfd::ghosts, out_);
    comm_.start_send(out_, *to, 0);
  }
  comm_.finish_all();
  const int begin = step > 0 ? -cfd::ghosts : own;
  if (from) cfd::unpack(in_.data(), cell_, v, d, begin, begin + cfd::ghosts);
}

void Pencils::receive_front(cfd::Vector& v, int k, int step) {
  for (std::size_t d = 0; d < 2; ++d) {
    const auto from = neighbour(d, -step);
    if (!from) continue;
    const int points = cell_.inner_end(1 - d) - cell_.inner_begin(1 - d);
    buffer_.resize(cfd::equations * static_cast<std::size_t>(points));
    comm_.receive(buffer_, *from);
    const double* next = buffer_.data();
    const int ghost = step > 0 ? -1 : cell_.own()[d];
    for (cfd::Scalar& component : v) {
      for_each_of_edge(cell_, d, ghost, k, [&](std::size_t at) { component[at] = *next++; });
    }
  }
}

void Pencils::send_front(const cfd::Vector& v, int k, int step) {
  for (std::size_t d = 0; d < 2; ++d) {
    const auto to = neighbour(d, step);
    if (!to) continue;
    buffer_.clear();
    const int edge = step > 0 ? cell_.own()[d] - 1 : 0;
    for (const cfd::Scalar& component : v) {
      for_each_of_edge(cell_, d, edge, k,
                       [&](std::size_t at) { buffer_.push_back(component[at]); });
    }
    comm_.send(buffer_, *to);
  }
}

}  // namespace roundtrip::npb::lu
