#include "npb/sp/penta_scheme.hpp"

#include "npb/cfd/physics.hpp"

namespace roundtrip::npb::sp {
namespace {

using cfd::equations;
using cfd::Lanes;

/// The matrix of each characteristic variable.
constexpr std::array<std::size_t, equations> matrix_of = {0, 0, 0, 1, 2};

/// Fourth differences at point g of n, on the five diagonals: one-sided next to the boundary.
std::array<double, 5> fourth_difference(int g, int n) {
  if (g == 1) return {0, 0, 5, -4, 1};
  if (g == 2) return {0, -4, 6, -4, 1};
  if (g == n - 3) return {1, -4, 6, -4, 0};
  if (g == n - 2) return {1, -4, 5, 0, 0};
  return {1, -4, 6, -4, 1};
}

}  // namespace

PentaScheme::PentaScheme(cfd::Fields& fields, const std::vector<cfd::Scalar>& speeds, std::size_t d)
    : fields_(fields), speeds_(speeds), d_(d), n_(fields.cells()[0].cell.n()) {
  const cfd::Spacing spacing(n_);
  second_ = fields.dt() * spacing.second;
  first_ = fields.dt() * spacing.first;
}

void PentaScheme::reserve(std::size_t slots, int length) {
  length_ = static_cast<std::size_t>(length);
  if (kept_.size() < slots * length_) kept_.resize(slots * length_);
}

PentaScheme::Eliminated PentaScheme::eliminate(std::size_t cell, const cfd::Bundle& bundle,
                                               std::size_t slot, Eliminated before) {
  cfd::CellFields& fields = fields_.cells()[cell];
  const double* inverse = fields.derived.inverse_density.data();
  const double* velocity = fields.derived.velocity[d_].data();
  const double* speed = speeds_[cell].data();
  Kept* kept = kept_.data() + slot * length_;
  const double damping = fields_.dt() * cfd::fourth_dissipation;
  // The largest viscous coefficient, that of heat, is used for all variables.
  const auto spread = [&](std::ptrdiff_t at) {
    return second_ * (cfd::dissipation[d_] + cfd::c1345 * cfd::load(inverse + at, bundle.apart));
  };
  Lanes spread_below = spread(bundle.at - bundle.step);
  Lanes spread_here = spread(bundle.at);
  Row one = before.last;
  Row two = before.second_last;
  for (int i = 0; i < bundle.length; ++i) {
    const std::ptrdiff_t at = bundle.at + i * bundle.step;
    const std::ptrdiff_t below = at - bundle.step;
    const std::ptrdiff_t above = at + bundle.step;
    const Lanes spread_above = spread(above);
    const std::array<double, 5> fourth = fourth_difference(bundle.first + i, n_);
    const Lanes flow_below = first_ * cfd::load(velocity + below, bundle.apart);
    const Lanes flow_above = first_ * cfd::load(velocity + above, bundle.apart);
    const Lanes sound_below = first_ * cfd::load(speed + below, bundle.apart);
    const Lanes sound_above = first_ * cfd::load(speed + above, bundle.apart);
    const Lanes diagonal = 1 + 2 * spread_here + damping * fourth[2];
    const Lanes lower = damping * fourth[1] - flow_below - spread_below;
    const Lanes upper = damping * fourth[3] + flow_above - spread_above;
    const double outer_low = damping * fourth[0];
    const double outer_high = damping * fourth[4];
    const std::array<Lanes, matrices> lowers = {lower, lower - sound_below, lower + sound_below};
    const std::array<Lanes, matrices> uppers = {upper, upper + sound_above, upper - sound_above};

    Row row{};
    std::array<Lanes, matrices> pivots{};
    std::array<Lanes, matrices> factors{};
    for (std::size_t m = 0; m < matrices; ++m) {
      factors[m] = lowers[m] - outer_low * two.e[m];
      pivots[m] = 1 / (diagonal - outer_low * two.f[m] - factors[m] * one.e[m]);
      row.e[m] = pivots[m] * (uppers[m] - factors[m] * one.f[m]);
      row.f[m] = pivots[m] * outer_high;
    }
    for (std::size_t v = 0; v < equations; ++v) {
      const std::size_t m = matrix_of[v];
      double* const place = fields.rhs[v].data() + at;
      row.r[v] = pivots[m] *
                 (cfd::load(place, bundle.apart) - outer_low * two.r[v] - factors[m] * one.r[v]);
      cfd::store(row.r[v], place, bundle.apart, bundle.count);
    }
    kept[i] = {row.e, row.f};
    two = one;
    one = row;
    spread_below = spread_here;
    spread_here = spread_above;
  }
  return {one, two};
}

PentaScheme::Substituted PentaScheme::substitute(std::size_t cell, const cfd::Bundle& bundle,
                                                 std::size_t slot, Substituted behind) {
  cfd::Vector& rhs = fields_.cells()[cell].rhs;
  const Kept* kept = kept_.data() + slot * length_;
  for (int i = bundle.length - 1; i >= 0; --i) {
    const std::ptrdiff_t at = bundle.at + i * bundle.step;
    for (std::size_t v = 0; v < equations; ++v) {
      const std::size_t m = matrix_of[v];
      double* const place = rhs[v].data() + at;
      const Lanes x = cfd::load(place, bundle.apart) - kept[i].e[m] * behind.first[v] -
                      kept[i].f[m] * behind.second[v];
      cfd::store(x, place, bundle.apart, bundle.count);
      behind.second[v] = behind.first[v];
      behind.first[v] = x;
    }
  }
  return behind;
}

}  // namespace roundtrip::npb::sp
