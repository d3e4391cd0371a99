#include "npb/cfd/multipartition.hpp"

#include <cmath>

#include "npb/cfd/layers.hpp"

namespace roundtrip::npb::cfd {

MultiPartition::MultiPartition(Comm& comm, int n)
    : comm_(comm),
      side_(static_cast<int>(std::lround(std::sqrt(comm.size())))),
      position_{comm.rank() % side_, comm.rank() / side_} {
  for (int c = 0; c < side_; ++c) {
    const std::array<int, 3> at{(position_[0] + c) % side_, (position_[1] + c) % side_, c};
    std::array<int, 3> origin{};
    std::array<int, 3> own{};
    for (std::size_t d = 0; d < 3; ++d) {
      origin[d] = part_begin(n, side_, at[d]);
      own[d] = part_begin(n, side_, at[d] + 1) - origin[d];
    }
    cells_.emplace_back(n, origin, own);
  }
}

std::size_t MultiPartition::cell_of(std::size_t d, int stage) const {
  const int c = d < 2 ? stage - position_[d] + side_ : stage;
  return static_cast<std::size_t>(c % side_);
}

int MultiPartition::neighbour(std::size_t d, int step) const {
  std::array<int, 2> at = position_;
  if (d < 2) {
    at[d] += step;
  } else {
    at[0] -= step;
    at[1] -= step;
  }
  return (at[0] + side_) % side_ + side_ * ((at[1] + side_) % side_);
}

void MultiPartition::fill_ghosts(const std::vector<Vector*>& fields) {
  for (std::size_t d = 0; d < 3; ++d) {
    for (const int step : {+1, -1}) {
      const std::size_t expected = pack_layers(fields, d, step);
      if (expected == 0) continue;
      in_.resize(expected);
      comm_.exchange(out_, neighbour(d, step), in_, neighbour(d, -step));
      unpack_layers(fields, d, step);
    }
  }
}

std::size_t MultiPartition::pack_layers(const std::vector<Vector*>& fields, std::size_t d,
                                        int step) {
  out_.clear();
  std::size_t expected = 0;
  for (int stage = 0; stage + 1 < side_; ++stage) {
    const std::size_t from = cell_of(d, step > 0 ? stage : stage + 1);
    const std::size_t to = cell_of(d, step > 0 ? stage + 1 : stage);
    const int own = cells_[from].own()[d];
    const int begin = step > 0 ? own - ghosts : 0;
    pack(cells_[from], *fields[from], d, begin, begin + ghosts, out_);
    expected += layer_size(cells_[to], d, ghosts);
  }
  return expected;
}

void MultiPartition::unpack_layers(const std::vector<Vector*>& fields, std::size_t d, int step) {
  const double* next = in_.data();
  for (int stage = 0; stage + 1 < side_; ++stage) {
    const std::size_t to = cell_of(d, step > 0 ? stage + 1 : stage);
    const int begin = step > 0 ? -ghosts : cells_[to].own()[d];
    next = unpack(next, cells_[to], *fields[to], d, begin, begin + ghosts);
  }
}

}  // namespace roundtrip::npb::cfd
