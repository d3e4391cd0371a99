#include <algorithm>
#include <array>

#include "core/failure.hpp"
#include "ddtbench/apps/apps.hpp"
#include "ddtbench/array.hpp"
#include "ddtbench/copy.hpp"

namespace roundtrip::ddtbench {
namespace {

constexpr std::size_t complex_bytes = 2 * sizeof(double);

/// An N x N matrix of complex numbers, divided among `ranks` ranks by rows.
struct FftSize {
  int n, ranks;

  [[nodiscard]] int rows() const { return n / ranks; }
  [[nodiscard]] std::size_t bytes() const {
    return complex_bytes * static_cast<std::size_t>(n) * static_cast<std::size_t>(rows());
  }
};

/// 2-D FFT: the transposition between its two passes. Each rank sends to each rank the block of its
/// own rows and the receiver's columns; the receiver stores the received rows as columns.
class Fft final : public MicroApp {
 public:
  explicit Fft(const FftSize& size)
      : size_(size), from_(size.bytes() / sizeof(double)), to_(size.bytes() / sizeof(double)) {}

  [[nodiscard]] MPI_Datatype element() const override { return MPI_DOUBLE; }
  [[nodiscard]] bool collective() const override { return true; }
  void turn() override { std::swap(from_, to_); }

  [[nodiscard]] Region sent() const override {
    Region region;
    for (int rank = 0; rank < size_.ranks; ++rank) {
      for (int i = 0; i < size_.rows(); ++i) region.add(at(from_, i, rank, 0), run());
    }
    return region;
  }
  [[nodiscard]] Region received() const override {
    Region region;
    for (int rank = 0; rank < size_.ranks; ++rank) {
      for (int i = 0; i < size_.rows(); ++i) {
        for (int j = 0; j < size_.rows(); ++j) region.add(at(to_, j, rank, i), complex_bytes);
      }
    }
    return region;
  }

  [[nodiscard]] Datatypes commit(Origin /*origin*/) const override {
    const int rows = size_.rows();
    const Type complex = contiguous(2, MPI_DOUBLE);
    const Type column = resized(complex_bytes, vector(rows, 1, size_.n, complex));
    const auto block = static_cast<MPI_Aint>(run());
    Type gather = committed(resized(block, vector(rows, rows, size_.n, complex)));
    Type scatter = committed(resized(block, contiguous(rows, column)));
    return two_types(std::move(gather), from_.data(), std::move(scatter), to_.data(), size_.ranks);
  }

  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<double*>(buffer);
    for (int rank = 0; rank < size_.ranks; ++rank) {
      for (int i = 0; i < size_.rows(); ++i) {
        const double* row = value(from_, i, rank, 0);
        for (int j = 0; j < 2 * size_.rows(); ++j) *out++ = row[j];
      }
    }
  }

  void unpack(const char* buffer) const override {
    const auto* in = reinterpret_cast<const double*>(buffer);
    for (int rank = 0; rank < size_.ranks; ++rank) {
      for (int i = 0; i < size_.rows(); ++i) {
        for (int j = 0; j < size_.rows(); ++j) {
          double* number = value(to_, j, rank, i);
          number[0] = *in++;
          number[1] = *in++;
        }
      }
    }
  }

  [[nodiscard]] bool has_tuned_loops() const override { return true; }
  void pack_tuned(char* buffer) const override {
    for (int rank = 0; rank < size_.ranks; ++rank) {
      for (int i = 0; i < size_.rows(); ++i, buffer += run()) {
        std::memcpy(buffer, at(from_, i, rank, 0), run());
      }
    }
  }

  /// Unpacks in tiles, so that the cache lines of a few rows and columns stay in cache.
  void unpack_tuned(const char* buffer) const override {
    constexpr int tile = 16;
    const int rows = size_.rows();
    for (int rank = 0; rank < size_.ranks; ++rank) {
      for (int first_i = 0; first_i < rows; first_i += tile) {
        for (int j = 0; j < rows; ++j) {
          const char* in = buffer + static_cast<std::size_t>(rank * rows + first_i) * run() +
                           static_cast<std::size_t>(j) * complex_bytes;
          char* out = at(to_, j, rank, first_i);
          const int last_i = std::min(first_i + tile, rows);
          for (int i = first_i; i < last_i; ++i, in += run(), out += complex_bytes) {
            copy_piece<complex_bytes>(out, in);
          }
        }
      }
    }
  }

 private:
  /// Bytes of one row of a block.
  [[nodiscard]] std::size_t run() const {
    return complex_bytes * static_cast<std::size_t>(size_.rows());
  }
  /// The value in row `row` and column `column`, counted from the first column of `rank`.
  [[nodiscard]] double* value(const Array<double>& matrix, int row, int rank, int column) const {
    const int index = row * size_.n + rank * size_.rows() + column;
    return &matrix[2 * static_cast<std::size_t>(index)];
  }
  [[nodiscard]] char* at(const Array<double>& matrix, int row, int rank, int column) const {
    return reinterpret_cast<char*>(value(matrix, row, rank, column));
  }

  FftSize size_;
  Array<double> from_;
  Array<double> to_;
};

}  // namespace

void add_fft(Catalogue& catalogue, int ranks) {
  for (const int wanted : {256, 512, 768, 1024, 1536}) {
    const FftSize size{.n = wanted + wanted % ranks, .ranks = ranks};
    if (size.n % ranks != 0) {
      throw Failure(Exit::usage, "FFT: N = " + std::to_string(size.n) +
                                     " cannot be divided among " + std::to_string(ranks) +
                                     " ranks");
    }
    add_case<Fft>(catalogue, "FFT", "N=" + std::to_string(size.n), size.bytes(), size);
  }
}

}  // namespace roundtrip::ddtbench
