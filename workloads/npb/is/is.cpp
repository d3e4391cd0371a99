#include "npb/is/is.hpp"

#include <cstdio>
#include <numeric>

#include "npb/common/random.hpp"
#include "npb/common/ranks.hpp"
#include "npb/is/published.hpp"
#include "npb/is/sorter.hpp"

namespace roundtrip::npb::is {
namespace {

class Is final : public Benchmark {
 public:
  explicit Is(char problem_class) : class_(problem_class), parameters_(parameters(problem_class)) {}

  [[nodiscard]] Problem problem() const override {
    const std::int64_t keys = std::int64_t{1} << parameters_.log2_keys;
    return {.size = std::to_string(keys),
            .iterations = rankings,
            .operations = static_cast<double>(rankings * keys),
            .operation_type = "keys ranked"};
  }

  /// The keys, on several ranks their copies to send or keep and those received, and the sorted
  /// keys; the ranks of the key values, and their copy for sorting.
  [[nodiscard]] double bytes(int ranks) const override {
    const double copies = ranks == 1 ? 2 : 4 - 1.0 / ranks;
    const auto keys = static_cast<double>(std::int64_t{1} << parameters_.log2_keys);
    const auto values = static_cast<double>(1 << parameters_.log2_max_key);
    return sizeof(int) * (copies * keys + 2 * values) / ranks;
  }

  Outcome run(Comm& comm, TimedSection& section) override;

 private:
  void rank_once(Comm& comm, Sorter& sorter, int iteration);
  [[nodiscard]] std::array<int, tests> own_test_keys(const Comm& comm) const;

  char class_;
  Parameters parameters_;
  Array<int> keys_;
  int passed_ = 0;  ///< tests passed on this rank
};

/// This rank's part of the sequence: each key is the mean of four random numbers, scaled.
Array<int> make_keys(const Comm& comm, const Parameters& parameters) {
  constexpr std::uint64_t numbers_per_key = 4;
  const std::uint64_t count = (std::uint64_t{1} << static_cast<unsigned>(parameters.log2_keys)) /
                              static_cast<std::uint64_t>(comm.size());
  const double quarter = 1 << (parameters.log2_max_key - 2);
  Random random(common_seed);
  random.skip(numbers_per_key * count * static_cast<std::uint64_t>(comm.rank()));
  Array<int> keys(count);
  for (int& key : keys) {
    double sum = random.next();
    sum += random.next();
    sum += random.next();
    sum += random.next();
    key = static_cast<int>(quarter * sum);
  }
  return keys;
}

/// The test keys of this rank; 0 for the test keys of other ranks.
std::array<int, tests> Is::own_test_keys(const Comm& comm) const {
  std::array<int, tests> values{};
  const auto first = static_cast<std::int64_t>(keys_.size()) * comm.rank();
  for (std::size_t t = 0; t < tests; ++t) {
    const std::int64_t local = parameters_.index[t] - first;
    if (local >= 0 && local < std::ssize(keys_)) values[t] = keys_[static_cast<std::size_t>(local)];
  }
  return values;
}

void Is::rank_once(Comm& comm, Sorter& sorter, int iteration) {
  if (comm.root()) {
    keys_[static_cast<std::size_t>(iteration)] = iteration;
    keys_[static_cast<std::size_t>(iteration + rankings)] =
        (1 << parameters_.log2_max_key) - iteration;
  }
  std::array<int, tests> values = own_test_keys(comm);
  sorter.rank_keys(keys_, values);
  for (std::size_t t = 0; t < tests; ++t) {
    if (sorter.owns(values[t]) &&
        sorter.rank_of(values[t]) == published_rank(class_, t, iteration)) {
      ++passed_;
    }
  }
}

Outcome Is::run(Comm& comm, TimedSection& section) {
  if (comm.root()) {
    std::printf(" Size:  %s  (class %c)\n", problem().size.c_str(), class_);
    std::printf(" Iterations:   %d\n Total number of processes:  %d\n", rankings, comm.size());
  }
  keys_ = make_keys(comm, parameters_);
  Sorter sorter(comm, parameters_.log2_max_key, parameters_.log2_buckets);
  rank_once(comm, sorter, 1);
  passed_ = 0;

  std::vector<std::uint64_t> checksums;
  checksums.reserve(rankings);
  section.start();
  for (int iteration = 1; iteration <= rankings; ++iteration) {
    rank_once(comm, sorter, iteration);
    checksums.push_back(sorter.checksum());
    section.lap();
  }
  section.stop();

  std::array<int, 2> results{passed_, sorter.disorder()};
  comm.sum(std::span<int>(results));
  comm.sum_at_root(std::span(checksums));
  Outcome outcome{results[0] == rankings * static_cast<int>(tests) && results[1] == 0, {}};
  for (const std::uint64_t checksum : checksums) {
    constexpr unsigned beyond_a_double = 64 - 53;
    outcome.history.push_back(static_cast<double>(checksum >> beyond_a_double));
  }
  return outcome;
}

}  // namespace

Entry entry() {
  constexpr int most = 256;
  return {"IS", [](char) { return power_of_two(most); },
          [](char problem_class) { return std::make_unique<Is>(problem_class); }, "SWABC",
          histories()};
}

}  // namespace roundtrip::npb::is
