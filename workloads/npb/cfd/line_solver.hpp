#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "npb/cfd/bundles.hpp"
#include "npb/cfd/multipartition.hpp"
#include "npb/cfd/work.hpp"

namespace roundtrip::npb::cfd {

/// Solves all lines of direction d through all cells: elimination upwards, substitution downwards.
/// Each stage sends its last values to the rank of the next stage.
///
/// Scheme has the types Eliminated and Substituted (arrays of Lanes, all zero at the boundary) and
///   Eliminated eliminate(cell, bundle, slot, Eliminated of the previous point);
///   Substituted substitute(cell, bundle, slot, Substituted of the next point);
/// A slot keeps a bundle's factors between these two calls. reserve(slots, length) is called first.
template <class Scheme>
class LineSolver {
 public:
  LineSolver(MultiPartition& partition, const Work& work) : partition_(partition), work_(work) {
    for (std::size_t d = 0; d < 3; ++d) {
      for (const Cell& cell : partition.cells()) bundles_[d].push_back(bundles_of(cell, d));
    }
  }

  void solve(std::size_t d, Scheme& scheme) {
    if (partition_.side() == 1) {
      scheme.reserve(1, partition_.cells()[0].own()[d]);
      for (const Bundle& bundle : bundles_[d][0]) {
        scheme.eliminate(0, bundle, 0, typename Scheme::Eliminated{});
        scheme.substitute(0, bundle, 0, typename Scheme::Substituted{});
      }
      declare_work(work_.eliminate[d] + work_.substitute[d], 0);
      return;
    }
    reserve(d, scheme);
    const int last = partition_.side() - 1;
    for (int stage = 0; stage <= last; ++stage) {
      run<typename Scheme::Eliminated>(d, stage, stage > 0, stage < last, +1, work_.eliminate[d],
                                       [&](std::size_t cell, const Bundle& bundle, std::size_t slot,
                                           const typename Scheme::Eliminated& in) {
                                         return scheme.eliminate(cell, bundle, slot, in);
                                       });
    }
    for (int stage = last; stage >= 0; --stage) {
      run<typename Scheme::Substituted>(
          d, stage, stage<last, stage> 0, -1, work_.substitute[d],
          [&](std::size_t cell, const Bundle& bundle, std::size_t slot,
              const typename Scheme::Substituted& in) {
            return scheme.substitute(cell, bundle, slot, in);
          });
    }
    partition_.comm().finish_sends();
  }

 private:
  void reserve(std::size_t d, Scheme& scheme) const {
    std::size_t slots = 0;
    int longest = 0;
    for (std::size_t c = 0; c < partition_.cells().size(); ++c) {
      slots += bundles_[d][c].size();
      longest = std::max(longest, partition_.cells()[c].own()[d]);
    }
    scheme.reserve(slots, longest);
  }

  void declare_work(double per_point, std::size_t cell) const {
    Comm::work(per_point * partition_.cells()[cell].inner_points());
  }

  /// One stage: receives the values of the previous stage and sends values to the next, if any.
  template <class Handed, class Solve>
  void run(std::size_t d, int stage, bool receives, bool sends, int step, double work_per_point,
           const Solve& solve) {
    const std::size_t cell = partition_.cell_of(d, stage);
    const std::vector<Bundle>& bundles = bundles_[d][cell];
    std::size_t slot = 0;
    for (std::size_t c = 0; c < cell; ++c) slot += bundles_[d][c].size();
    std::size_t lines = 0;
    for (const Bundle& bundle : bundles) lines += static_cast<std::size_t>(bundle.count);
    in_.resize(lines * sizeof(Handed) / sizeof(Lanes));
    Comm& comm = partition_.comm();
    if (receives) comm.receive(in_, partition_.neighbour(d, -step));
    comm.finish_sends();
    out_.resize(in_.size());
    double* to = out_.data();
    const double* from = in_.data();
    for (std::size_t b = 0; b < bundles.size(); ++b) {
      Handed in{};
      if (receives) from = get_lines(from, bundles[b].count, in);
      const Handed out = solve(cell, bundles[b], slot + b, in);
      if (sends) to = put_lines(out, bundles[b].count, to);
    }
    declare_work(work_per_point, cell);
    // All ranks send in a ring at the same time: blocking sends could deadlock.
    if (sends) comm.post_send(out_, partition_.neighbour(d, step));
  }

  MultiPartition& partition_;
  Work work_;
  std::array<std::vector<std::vector<Bundle>>, 3> bundles_;
  std::vector<double> in_;
  std::vector<double> out_;
};

}  // namespace roundtrip::npb::cfd
