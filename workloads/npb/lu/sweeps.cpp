#include "npb/lu/sweeps.hpp"

namespace roundtrip::npb::lu {

using cfd::equations;
using cfd::Flow;
using cfd::FlowFields;
using cfd::State;
using cfd::Vector;

Sweeps::Sweeps(Pencils& pencils, double dt, double lower_work, double upper_work)
    : pencils_(pencils), lower_work_(lower_work), upper_work_(upper_work) {
  const cfd::Spacing spacing(pencils.cell().n());
  second_ = over_relaxation * dt * spacing.second;
  first_ = over_relaxation * dt * spacing.first;
  const double twice = 2 * dt * spacing.second;
  diagonal_ = 1 + twice * (cfd::dissipation[0] + cfd::dissipation[1] + cfd::dissipation[2]);
  const double across = cfd::four_thirds + 2;  // of a momentum: 4/3 along, 1 across, twice
  drag_ = {0, twice * cfd::c34 * across, twice * cfd::c34 * across, twice * cfd::c34 * across,
           twice * cfd::c1345 * 3};
  for (auto* lines : {&known_, &inverse_}) {
    for (cfd::Scalar& line : *lines) line.resize(static_cast<std::size_t>(pencils.cell().own()[0]));
  }
}

void Sweeps::lower(const FlowFields& flow, Vector& v) {
  sweep<+1>(flow, v, lower_work_);
}

void Sweeps::upper(const FlowFields& flow, Vector& v) {
  sweep<-1>(flow, v, upper_work_);
}

template <int step>
void Sweeps::sweep(const FlowFields& flow, Vector& v, double work) {
  const cfd::Cell& cell = pencils_.cell();
  const double points = cell.inner(0) * cell.inner(1);
  const auto place = [](int begin, int end, int count) {
    return step > 0 ? begin + count : end - 1 - count;
  };
  const int begin_k = cell.inner_begin(2);
  const int end_k = cell.inner_end(2);
  const int begin_j = cell.inner_begin(1);
  const int end_j = cell.inner_end(1);
  for (int plane = 0; plane < end_k - begin_k; ++plane) {
    const int k = place(begin_k, end_k, plane);
    pencils_.receive_front(v, k, step);
    for (int line = 0; line < end_j - begin_j; ++line) {
      sweep_line<step>(flow, v, place(begin_j, end_j, line), k);
    }
    Comm::work(work * points);
    pencils_.send_front(v, k, step);
  }
}

/// Computes the contributions of the neighbours in y and z to each point of a line; vectorised.
template <int step>
void Sweeps::gather(const FlowFields& flow, const Vector& v, std::ptrdiff_t at, int count) {
  const std::ptrdiff_t y = at - step * pencils_.cell().stride(1);
  const std::ptrdiff_t z = at - step * pencils_.cell().stride(2);
  const std::array<const double*, equations> from = {v[0].data(), v[1].data(), v[2].data(),
                                                     v[3].data(), v[4].data()};
  const std::array<double*, equations> to = {known_[0].data(), known_[1].data(), known_[2].data(),
                                             known_[3].data(), known_[4].data()};
  const double first = step * first_;
  const double second = second_;
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    const State in_y{from[0][y + i], from[1][y + i], from[2][y + i], from[3][y + i],
                     from[4][y + i]};
    const State in_z{from[0][z + i], from[1][z + i], from[2][z + i], from[3][z + i],
                     from[4][z + i]};
    const State by_y = cfd::spread<1>(flow.at(y + i), in_y, first, second);
    const State by_z = cfd::spread<2>(flow.at(z + i), in_z, first, second);
    to[0][i] = by_y[0] + by_z[0];
    to[1][i] = by_y[1] + by_z[1];
    to[2][i] = by_y[2] + by_z[2];
    to[3][i] = by_y[3] + by_z[3];
    to[4][i] = by_y[4] + by_z[4];
  }
}

void Sweeps::prepare_diagonal(const FlowFields& flow, std::ptrdiff_t at, int count) {
  const double* __restrict density = flow.inverse_density + at;
  double* __restrict momentum = inverse_[1].data();
  double* __restrict energy = inverse_[4].data();
  for (int i = 0; i < count; ++i) {
    momentum[i] = 1 / (diagonal_ + drag_[1] * density[i]);
    energy[i] = 1 / (diagonal_ + drag_[4] * density[i]);
  }
}

/// Solves D x = b by forward substitution: mass, momenta, energy.
inline State Sweeps::solve_diagonal(const Flow& flow, const State& b, std::size_t i) const {
  State x;
  x[0] = b[0] / diagonal_;
  const double drag = drag_[1] * flow.inverse_density;
  const double heat = drag_[4] * flow.inverse_density;
  const double momentum = inverse_[1][i];
  double work = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double v = flow.velocity[d];
    x[1 + d] = momentum * (b[1 + d] + drag * v * x[0]);
    work += v * (x[1 + d] - v * x[0]);
  }
  x[4] = inverse_[4][i] * (b[4] - (drag - heat) * work + heat * flow.energy * x[0]);
  return x;
}

template <int step>
void Sweeps::sweep_line(const FlowFields& flow, Vector& v, int j, int k) {
  const cfd::Cell& cell = pencils_.cell();
  const int begin = cell.inner_begin(0);
  const int count = cell.inner_end(0) - begin;
  const std::ptrdiff_t at = cell.at(begin, j, k);
  gather<step>(flow, v, at, count);
  prepare_diagonal(flow, at, count);

  const std::array<double*, equations> line = {v[0].data() + at, v[1].data() + at, v[2].data() + at,
                                               v[3].data() + at, v[4].data() + at};
  const int start = step > 0 ? 0 : count - 1;
  State before{};
  for (std::size_t m = 0; m < equations; ++m) before[m] = line[m][start - step];
  Flow flow_before = flow.at(at + start - step);
  for (int done = 0, i = start; done < count; ++done, i += step) {
    const auto place = static_cast<std::size_t>(i);
    const State by_x = cfd::spread<0>(flow_before, before, step * first_, second_);
    State b;
    for (std::size_t m = 0; m < equations; ++m) {
      b[m] = known_[m][place] + by_x[m] + (step > 0 ? line[m][i] : 0);
    }
    flow_before = flow.at(at + i);
    before = solve_diagonal(flow_before, b, place);
    for (std::size_t m = 0; m < equations; ++m) {
      if (step < 0) before[m] += line[m][i];
      line[m][i] = before[m];
    }
  }
}

}  // namespace roundtrip::npb::lu
