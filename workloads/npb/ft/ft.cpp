#include "npb/ft/ft.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "npb/common/numbers.hpp"
#include "npb/common/random.hpp"
#include "npb/common/ranks.hpp"
#include "npb/ft/published.hpp"
#include "npb/ft/transform.hpp"

namespace roundtrip::npb::ft {
namespace {

using Complex = std::complex<double>;

class Ft final : public Benchmark {
 public:
  explicit Ft(char problem_class) : class_(problem_class), parameters_(parameters(problem_class)) {}

  [[nodiscard]] Problem problem() const override {
    const auto& [nx, ny, nz] = parameters_.extent;
    const double n = parameters_.extent.points();
    const double first = per_number + per_log_of_first * std::log(n);
    const double next = per_damping + per_log * std::log(n);
    return {.size = grid_size(nx, ny, nz),
            .iterations = parameters_.iterations(),
            .operations = n * (first + next * parameters_.iterations())};
  }

  /// Spectrum, field and, on several ranks, a buffer for transposes.
  [[nodiscard]] double bytes(int ranks) const override {
    return sizeof(Complex) * parameters_.extent.points() / ranks * (ranks == 1 ? 2 : 3);
  }

  Outcome run(Comm& comm, TimedSection& section) override;

 private:
  void print_header(int ranks) const;

  char class_;
  Parameters parameters_;
};

/// Random numbers: alternating real and imaginary parts, x fastest, then y, then z.
void fill_randomly(const Layout& layout, Field& field) {
  const auto& [nx, ny, nz] = layout.extent;
  for (int z = 0; z < layout.planes(); ++z) {
    const int plane = layout.rank * layout.planes() + z;
    Random random(common_seed);
    random.skip(2 * static_cast<std::uint64_t>(nx) * static_cast<std::uint64_t>(ny) *
                static_cast<std::uint64_t>(plane));
    for (int y = 0; y < ny; ++y) {
      Complex* line = field.data() + layout.line(y, z);
      for (int x = 0; x < nx; ++x) {
        const double re = random.next();
        line[x] = {re, random.next()};
      }
    }
  }
}

/// exp(-4 alpha pi^2 k^2 t) for the wave numbers k of indices first, first + 1, ... of n.
std::vector<double> damping(int n, int first, int count, int t) {
  constexpr double alpha = 1e-6;
  const double rate = -4 * alpha * std::numbers::pi * std::numbers::pi * t;
  std::vector<double> factors(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const int place = first + i;
    const double k = place < n / 2 ? place : place - n;
    factors[static_cast<std::size_t>(i)] = std::exp(rate * k * k);
  }
  return factors;
}

Damping damping_at(const Layout& layout, int t) {
  const auto& [nx, ny, nz] = layout.extent;
  return {damping(nx, 0, nx, t), damping(ny, layout.rank * layout.own_y(), layout.own_y(), t),
          damping(nz, 0, nz, t)};
}

/// The sum over the points (j, 3 j, 5 j), j = 1 .. 1024, modulo the extent, divided by the number
/// of points of the grid. At the root.
Complex checksum(Comm& comm, const Layout& layout, const Field& field) {
  constexpr int samples = 1024;
  const auto& [nx, ny, nz] = layout.extent;
  Complex sum = 0;
  for (int j = 1; j <= samples; ++j) {
    const int z = 5 * j % nz - layout.rank * layout.planes();
    if (z < 0 || z >= layout.planes()) continue;
    sum += field[layout.line(3 * j % ny, z) + static_cast<std::size_t>(j % nx)];
  }
  std::array<double, 2> parts{sum.real(), sum.imag()};
  comm.sum_at_root(parts);
  return Complex{parts[0], parts[1]} / layout.extent.points();
}

void Ft::print_header(int ranks) const {
  std::printf(" Size                : %s  (class %c)\n", problem().size.c_str(), class_);
  std::printf(" Iterations          : %14d\n", parameters_.iterations());
  std::printf(" Number of processes : %14d\n Processor array     : %9dx%4d\n", ranks, 1, ranks);
  std::printf(" Layout type         : %14s\n\n", ranks == 1 ? "0D" : "1D");
}

Outcome Ft::run(Comm& comm, TimedSection& section) {
  if (comm.root()) print_header(comm.size());
  const Layout layout{parameters_.extent, comm.rank(), comm.size()};
  Transform transform(comm, layout);
  Field spectrum(layout.size());
  Field field(layout.size());
  fill_randomly(layout, spectrum);
  transform.forward(spectrum);

  std::vector<Complex> checksums;
  section.start();
  fill_randomly(layout, spectrum);
  Comm::work(per_number * static_cast<double>(layout.size()));
  transform.forward(spectrum);
  section.skip();
  for (int t = 1; t <= parameters_.iterations(); ++t) {
    transform.inverse(spectrum, damping_at(layout, t), field);
    checksums.push_back(checksum(comm, layout, field));
    section.lap();
  }
  section.stop();

  constexpr double tolerance = 1e-12;
  constexpr int digits = 12;
  bool verified = true;
  Outcome outcome;
  for (std::size_t i = 0; i < checksums.size(); ++i) {
    const Complex published = parameters_.checksums[i];
    const double error = std::abs((checksums[i] - published) / published);
    verified = verified && error <= tolerance;
    outcome.history.insert(outcome.history.end(), {checksums[i].real(), checksums[i].imag()});
    if (comm.root()) {
      std::printf(" T = %4zu     Checksum = %21s %21s\n", i + 1,
                  fortran_d(checksums[i].real(), digits).c_str(),
                  fortran_d(checksums[i].imag(), digits).c_str());
    }
  }
  if (comm.root()) std::printf(" Result verification %s\n", verified ? "successful" : "failed");
  outcome.verified = comm.from_root(verified);
  return outcome;
}

}  // namespace

Entry entry() {
  return {"FT",
          [](char problem_class) {
            const Extent& extent = parameters(problem_class).extent;
            return power_of_two(std::min(extent.ny, extent.nz));
          },
          [](char problem_class) { return std::make_unique<Ft>(problem_class); }, "SWABC",
          histories()};
}

}  // namespace roundtrip::npb::ft
