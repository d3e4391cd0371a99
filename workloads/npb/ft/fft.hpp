#pragma once

#include <cstddef>
#include <vector>

namespace roundtrip::npb::ft {

/// Fourier transforms of several adjacent lines: F_k = sum_j x_j exp(-2 pi i j k / n), n a power of
/// two. Stockham's algorithm, radix 4: no bit reversal, and the innermost loop runs over lines.
class Fft {
 public:
  /// Lines of a bundle: two cache lines of complex numbers.
  static constexpr std::size_t lines = 8;

  explicit Fft(int n);

  [[nodiscard]] int length() const { return n_; }

  /// Real and imaginary parts of a bundle: element j of line l is at [j * lines + l].
  double* real() { return real_.data(); }
  double* imag() { return imag_.data(); }

  /// Transforms the bundle in place.
  void forward() { transform(real_, imag_, other_real_, other_imag_); }

  /// Inverse transform, with exp(+...), not scaled by 1/n.
  void inverse() { transform(imag_, real_, other_imag_, other_real_); }

 private:
  using Part = std::vector<double>;
  void transform(Part& re, Part& im, Part& other_re, Part& other_im);

  int n_;
  std::vector<double> cosine_;  ///< of 2 pi j / n, j < n
  std::vector<double> sine_;
  Part real_;
  Part imag_;
  Part other_real_;
  Part other_imag_;
};

}  // namespace roundtrip::npb::ft
