#include "npb/bt/block_scheme.hpp"

namespace roundtrip::npb::bt {
namespace {

using cfd::equations;
using cfd::FlowOf;
using cfd::Lanes;

Column unit(std::size_t m) {
  Column column{};
  column[m] = Lanes{} + 1;
  return column;
}

/// Solves M X = (C, r) in place by Gauss-Jordan elimination without pivoting: M is diagonally
/// dominant.
[[gnu::always_inline]] inline void solve_in_place(Block& m, Block& c, Column& r) {
  for (std::size_t p = 0; p < equations; ++p) {
    const Lanes inverse = 1 / m[p][p];
    for (std::size_t col = p + 1; col < equations; ++col) m[col][p] *= inverse;
    for (Column& column : c) column[p] *= inverse;
    r[p] *= inverse;
    for (std::size_t row = 0; row < equations; ++row) {
      if (row == p) continue;
      const Lanes factor = m[p][row];
      for (std::size_t col = p + 1; col < equations; ++col) m[col][row] -= factor * m[col][p];
      for (Column& column : c) column[row] -= factor * column[p];
      r[row] -= factor * r[p];
    }
  }
}

/// The matrix a A + b (N + c I), computed by applying it to each column of the identity.
template <std::size_t d>
[[gnu::always_inline]] inline Block matrix(const FlowOf<Lanes>& flow, double a, double b) {
  Block block;
  for (std::size_t m = 0; m < equations; ++m) {
    block[m] = cfd::spread<d>(flow, unit(m), a, b);
  }
  return block;
}

}  // namespace

template <std::size_t d>
BlockScheme<d>::BlockScheme(cfd::Fields& fields) : fields_(fields) {
  const cfd::Spacing spacing(fields.cells()[0].cell.n());
  second_ = fields.dt() * spacing.second;
  first_ = fields.dt() * spacing.first;
}

template <std::size_t d>
void BlockScheme<d>::reserve(std::size_t slots, int length) {
  length_ = static_cast<std::size_t>(length);
  if (kept_.size() < slots * length_) kept_.resize(slots * length_);
}

template <std::size_t d>
typename BlockScheme<d>::Eliminated BlockScheme<d>::eliminate(std::size_t cell,
                                                              const cfd::Bundle& bundle,
                                                              std::size_t slot, Eliminated before) {
  cfd::CellFields& fields = fields_.cells()[cell];
  const cfd::FlowFields flows(fields.u, fields.derived);
  Block* kept = kept_.data() + slot * length_;
  FlowOf<Lanes> below = flows.at(bundle.at - bundle.step, bundle.apart);
  FlowOf<Lanes> here = flows.at(bundle.at, bundle.apart);
  for (int i = 0; i < bundle.length; ++i) {
    const std::ptrdiff_t at = bundle.at + i * bundle.step;
    const FlowOf<Lanes> above = flows.at(at + bundle.step, bundle.apart);
    Block b = matrix<d>(here, 0, 2 * second_);
    Column r = cfd::spread<d>(below, before.r, first_, second_);
    for (std::size_t m = 0; m < equations; ++m) {
      b[m][m] += 1;
      const Column change = cfd::spread<d>(below, before.c[m], first_, second_);
      for (std::size_t row = 0; row < equations; ++row) b[m][row] += change[row];
      r[m] += cfd::load(fields.rhs[m].data() + at, bundle.apart);
    }
    Block c = matrix<d>(above, first_, -second_);
    solve_in_place(b, c, r);
    for (std::size_t m = 0; m < equations; ++m) {
      cfd::store(r[m], fields.rhs[m].data() + at, bundle.apart, bundle.count);
    }
    kept[i] = c;
    before = {c, r};
    below = here;
    here = above;
  }
  return before;
}

template <std::size_t d>
typename BlockScheme<d>::Substituted BlockScheme<d>::substitute(std::size_t cell,
                                                                const cfd::Bundle& bundle,
                                                                std::size_t slot,
                                                                Substituted behind) {
  cfd::Vector& rhs = fields_.cells()[cell].rhs;
  const Block* kept = kept_.data() + slot * length_;
  for (int i = bundle.length - 1; i >= 0; --i) {
    const std::ptrdiff_t at = bundle.at + i * bundle.step;
    Column x;
    for (std::size_t row = 0; row < equations; ++row) {
      x[row] = cfd::load(rhs[row].data() + at, bundle.apart);
    }
    for (std::size_t m = 0; m < equations; ++m) {
      for (std::size_t row = 0; row < equations; ++row) x[row] -= kept[i][m][row] * behind[m];
    }
    for (std::size_t row = 0; row < equations; ++row) {
      cfd::store(x[row], rhs[row].data() + at, bundle.apart, bundle.count);
    }
    behind = x;
  }
  return behind;
}

template class BlockScheme<0>;
template class BlockScheme<1>;
template class BlockScheme<2>;

}  // namespace roundtrip::npb::bt
