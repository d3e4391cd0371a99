#include "npb/ep/ep.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

#include "npb/common/numbers.hpp"
#include "npb/common/random.hpp"
#include "npb/common/ranks.hpp"
#include "npb/ep/gaussian.hpp"

namespace roundtrip::npb::ep {
namespace {

constexpr std::uint64_t seed = 271'828'183;
constexpr int log2_pairs_per_batch = 16;

struct Parameters {
  int log2_pairs;
  double sum_x;  ///< published
  double sum_y;  ///< published
};

const std::map<char, Parameters> classes = {
    {'S', {24, -3.247834652034740e+3, -6.958407078382297e+3}},
    {'W', {25, -2.863319731645753e+3, -6.320053679109499e+3}},
    {'A', {28, -4.295875165629892e+3, -1.580732573678431e+4}},
    {'B', {30, 4.033815542441498e+4, -2.660669192809235e+4}},
    {'C', {32, 4.764367927995374e+4, -8.084072988043731e+4}},
    {'D', {36, 1.982481200946593e+5, -1.020596636361769e+5}},
};

class Ep final : public Benchmark {
 public:
  explicit Ep(char problem_class) : class_(problem_class), parameters_(classes.at(problem_class)) {}

  [[nodiscard]] Problem problem() const override {
    const std::int64_t numbers = std::int64_t{2} << parameters_.log2_pairs;
    return {.size = std::to_string(numbers),
            .iterations = 0,
            .operations = static_cast<double>(numbers),
            .operation_type = "Random numbers generated"};
  }

  [[nodiscard]] double bytes(int) const override { return sizeof(Tally); }

  Outcome run(Comm& comm, TimedSection& section) override;

 private:
  void print(const Tally& tally, double pairs, double seconds) const;

  char class_;
  Parameters parameters_;
};

/// The sum over all ranks; rank r tallies the batches r, r + size, ...
Tally tally_batches(Comm& comm, int log2_batches) {
  Tally tally;
  const std::int64_t batches = std::int64_t{1} << log2_batches;
  const std::int64_t pairs = std::int64_t{1} << log2_pairs_per_batch;
  for (std::int64_t batch = comm.rank(); batch < batches; batch += comm.size()) {
    Random random(seed);
    random.skip(static_cast<std::uint64_t>(2 * pairs * batch));
    add_deviates(random.state(), pairs, tally);
    Comm::work(2 * static_cast<double>(pairs));
  }
  tally.sum_x = comm.sum(tally.sum_x);
  tally.sum_y = comm.sum(tally.sum_y);
  std::array<double, annuli> counts{};
  std::ranges::transform(tally.counts, counts.begin(),
                         [](std::int64_t count) { return static_cast<double>(count); });
  comm.sum(counts);
  std::ranges::transform(counts, tally.counts.begin(),
                         [](double count) { return static_cast<std::int64_t>(count); });
  return tally;
}

Outcome Ep::run(Comm& comm, TimedSection& section) {
  if (comm.root()) {
    std::printf(" Number of random numbers generated: %15s  (class %c)\n", problem().size.c_str(),
                class_);
    std::printf(" Total number of processes:          %15d\n", comm.size());
  }
  Tally warm_up;
  add_deviates(seed, std::int64_t{1} << log2_pairs_per_batch, warm_up);

  section.start();
  const Tally tally = tally_batches(comm, parameters_.log2_pairs - log2_pairs_per_batch);
  section.lap();
  section.stop();

  double pairs = 0;
  for (const std::int64_t count : tally.counts) pairs += static_cast<double>(count);
  if (comm.root()) print(tally, pairs, section.seconds());
  constexpr double tolerance = 1e-8;
  Outcome outcome;
  outcome.verified = comm.from_root(relative_error(tally.sum_x, parameters_.sum_x) <= tolerance &&
                                    relative_error(tally.sum_y, parameters_.sum_y) <= tolerance);
  outcome.history = {tally.sum_x, tally.sum_y};
  for (const std::int64_t count : tally.counts) {
    outcome.history.push_back(static_cast<double>(count));
  }
  return outcome;
}

void Ep::print(const Tally& tally, double pairs, double seconds) const {
  constexpr int digits = 15;
  std::printf("\nEP Benchmark Results:\n\nCPU Time =%10.4f\nN = 2^%5d\n", seconds,
              parameters_.log2_pairs);
  std::printf("No. Gaussian Pairs =%15.0f.\n", pairs);
  std::printf("Sums = %25s %25s\nCounts:\n", fortran_d(tally.sum_x, digits).c_str(),
              fortran_d(tally.sum_y, digits).c_str());
  for (std::size_t l = 0; l < annuli; ++l) {
    std::printf("%3zu%15lld.\n", l, static_cast<long long>(tally.counts[l]));
  }
}

}  // namespace

Entry entry() {
  return {"EP", [](char) { return any_number(); },
          [](char problem_class) { return std::make_unique<Ep>(problem_class); }, problem_classes,
          histories()};
}

}  // namespace roundtrip::npb::ep
