#include "npb/mg/halo.hpp"

#include <algorithm>

namespace roundtrip::npb::mg {
namespace {

/// Visits the points of layer `at` of a direction as contiguous pieces: visit(pointer, length).
template <class Visit>
void for_each_piece(Grid& grid, int direction, int at, const Visit& visit) {
  if (direction == 2) {
    visit(grid.line(0, at), grid.stride_z());
    return;
  }
  for (int z = 1; z <= grid.nz(); ++z) {
    if (direction == 1) {
      visit(grid.line(at, z), grid.stride_y());
    } else {
      for (int y = 1; y <= grid.ny(); ++y) visit(grid.line(y, z) + at, 1);
    }
  }
}

void pack(Grid& grid, int direction, int at, std::vector<double>& buffer) {
  buffer.clear();
  for_each_piece(grid, direction, at, [&](const double* piece, std::ptrdiff_t length) {
    buffer.insert(buffer.end(), piece, piece + length);
  });
}

void unpack(const std::vector<double>& buffer, Grid& grid, int direction, int at) {
  const double* next = buffer.data();
  for_each_piece(grid, direction, at, [&](double* piece, std::ptrdiff_t length) {
    std::copy_n(next, length, piece);
    next += length;
  });
}

/// Fills the ghosts in y or z, an undivided direction, with own points of the other end.
void wrap(Grid& grid, int direction) {
  const int n = grid.own()[static_cast<std::size_t>(direction)];
  if (direction == 2) {
    std::copy_n(grid.line(0, n), grid.stride_z(), grid.line(0, 0));
    std::copy_n(grid.line(0, 1), grid.stride_z(), grid.line(0, n + 1));
    return;
  }
  for (int z = 1; z <= grid.nz(); ++z) {
    std::copy_n(grid.line(n, z), grid.stride_y(), grid.line(0, z));
    std::copy_n(grid.line(1, z), grid.stride_y(), grid.line(n + 1, z));
  }
}

}  // namespace

Halo::Halo(Comm& comm) : comm_(comm) {
  for (std::size_t d = 2; ranks_[0] * ranks_[1] * ranks_[2] < comm.size(); d = (d + 2) % 3) {
    ranks_[d] *= 2;
  }
  position_ = {comm.rank() % ranks_[0], comm.rank() / ranks_[0] % ranks_[1],
               comm.rank() / (ranks_[0] * ranks_[1])};
}

void Halo::fill(Grid& grid) {
  for (int direction = 0; direction < 3; ++direction) {
    if (ranks_[static_cast<std::size_t>(direction)] > 1) {
      fill_direction(grid, direction);
    } else if (direction > 0) {
      wrap(grid, direction);
    }
  }
}

int Halo::neighbour(std::size_t direction, int step) const {
  std::array<int, 3> at = position_;
  at[direction] = (at[direction] + step + ranks_[direction]) % ranks_[direction];
  return at[0] + ranks_[0] * (at[1] + ranks_[1] * at[2]);
}

std::array<int, 3> Halo::shift(const Grid& fine, const Grid& coarse) const {
  std::array<int, 3> shift{};
  for (std::size_t d = 0; d < 3; ++d) {
    const bool shared = coarse.copies()[d] > fine.copies()[d];
    shift[d] = shared ? position_[d] / fine.copies()[d] % 2 : 0;
  }
  return shift;
}

void Halo::share(const Grid& fine, Grid& coarse) {
  const std::array<int, 3> has_it = shift(fine, coarse);
  for (int direction = 0; direction < 3; ++direction) {
    const auto d = static_cast<std::size_t>(direction);
    const int step = fine.copies()[d];
    if (coarse.copies()[d] == step) continue;
    pack(coarse, direction, 1, out_);
    in_.resize(out_.size());
    comm_.exchange(out_, neighbour(d, -step), in_, neighbour(d, +step));
    if (has_it[d] == 0) unpack(in_, coarse, direction, 1);
  }
}

void Halo::fill_direction(Grid& grid, int direction) {
  const auto d = static_cast<std::size_t>(direction);
  const int n = grid.own()[d];
  const int below = neighbour(d, -grid.copies()[d]);
  const int above = neighbour(d, +grid.copies()[d]);
  pack(grid, direction, n, out_);
  in_.resize(out_.size());
  comm_.exchange(out_, above, in_, below);
  unpack(in_, grid, direction, 0);
  pack(grid, direction, 1, out_);
  comm_.exchange(out_, below, in_, above);
  unpack(in_, grid, direction, n + 1);
}

}  // namespace roundtrip::npb::mg
