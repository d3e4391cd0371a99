#include "npb/mg/charges.hpp"

#include <algorithm>
#include <vector>

#include "npb/common/random.hpp"

namespace roundtrip::npb::mg {
namespace {

constexpr std::size_t charges = 10;

/// A random number and its place: x + n (y + n z), exact in a double.
struct Candidate {
  double value;
  double place;
};

/// Keeps the ten extreme candidates. Before(a, b): a is more extreme.
template <class Before>
class Extremes {
 public:
  explicit Extremes(Before before) : before_(before) {}

  void offer(Candidate candidate) {
    if (kept_.size() == charges && !before_(candidate, kept_.back())) return;
    if (kept_.size() == charges) kept_.pop_back();
    kept_.insert(std::ranges::upper_bound(kept_, candidate, before_), candidate);
  }
  [[nodiscard]] const std::vector<Candidate>& kept() const { return kept_; }

 private:
  Before before_;
  std::vector<Candidate> kept_;
};

/// Calls visit(x, y, z, value) for each own point; x, y, z: indices in the whole grid, from 0.
template <class Visit>
void for_each_number(const std::array<int, 3>& own, const std::array<int, 3>& origin, int n,
                     const Visit& visit) {
  for (int z = 0; z < own[2]; ++z) {
    for (int y = 0; y < own[1]; ++y) {
      const auto line = static_cast<std::uint64_t>(origin[2] + z) * static_cast<std::uint64_t>(n) +
                        static_cast<std::uint64_t>(origin[1] + y);
      Random random(common_seed);
      random.skip(line * static_cast<std::uint64_t>(n) + static_cast<std::uint64_t>(origin[0]));
      for (int x = 0; x < own[0]; ++x) {
        visit(origin[0] + x, origin[1] + y, origin[2] + z, random.next());
      }
    }
  }
}

/// Returns, on every rank, the ten most extreme candidates of all ranks.
template <class Before>
std::vector<Candidate> of_all_ranks(const Extremes<Before>& mine, Before before, const Comm& comm) {
  std::vector<Candidate> own(mine.kept());
  own.resize(charges, own.back());
  std::vector<Candidate> all(charges * static_cast<std::size_t>(comm.size()));
  constexpr int numbers = 2 * static_cast<int>(charges);
  MPI_Allgather(own.data(), numbers, MPI_DOUBLE, all.data(), numbers, MPI_DOUBLE, comm.handle());
  std::ranges::sort(all, before);
  const auto same = [](const Candidate& a, const Candidate& b) { return a.place == b.place; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  all.resize(charges);
  return all;
}

}  // namespace

void place_charges(Comm& comm, const Halo& halo, int n, Grid& v) {
  const std::array<int, 3> own = v.own();
  std::array<int, 3> origin{};
  for (std::size_t d = 0; d < 3; ++d) origin[d] = halo.position()[d] * own[d];

  const auto larger = [](const Candidate& a, const Candidate& b) { return a.value > b.value; };
  const auto smaller = [](const Candidate& a, const Candidate& b) { return a.value < b.value; };
  Extremes largest(larger);
  Extremes smallest(smaller);
  for_each_number(own, origin, n, [&](int x, int y, int z, double value) {
    const Candidate candidate{value, x + static_cast<double>(n) * (y + static_cast<double>(n) * z)};
    largest.offer(candidate);
    smallest.offer(candidate);
  });

  std::ranges::fill(v.data(), 0);
  const auto place = [&](const std::vector<Candidate>& candidates, double charge) {
    for (const Candidate& candidate : candidates) {
      auto rest = static_cast<long long>(candidate.place);
      std::array<int, 3> at{};
      bool mine = true;
      for (std::size_t d = 0; d < 3; ++d, rest /= n) {
        at[d] = static_cast<int>(rest % n) - origin[d];
        mine = mine && at[d] >= 0 && at[d] < own[d];
      }
      if (mine) v.line(at[1] + 1, at[2] + 1)[at[0] + 1] = charge;
    }
  };
  place(of_all_ranks(smallest, smaller, comm), -1);
  place(of_all_ranks(largest, larger, comm), +1);
}

}  // namespace roundtrip::npb::mg
