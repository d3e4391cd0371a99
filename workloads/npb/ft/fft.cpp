#include "npb/ft/fft.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace roundtrip::npb::ft {
namespace {

struct Factor {
  double re;
  double im;
};

/// Input and output of a pass.
struct Views {
  const double* re;
  const double* im;
  double* to_re;
  double* to_im;
};

/// Stores (re, im) times w at index `k`.
inline void put(double* __restrict to_re, double* __restrict to_im, std::size_t k, double re,
                double im, Factor w) {
  to_re[k] = re * w.re - im * w.im;
  to_im[k] = re * w.im + im * w.re;
}

/// A radix-4 butterfly of runs of `run` numbers, at distance `apart`; the results are adjacent.
void butterfly4(const Views& v, std::size_t apart, std::size_t run, Factor w1) {
  const Factor w2{w1.re * w1.re - w1.im * w1.im, 2 * w1.re * w1.im};
  const Factor w3{w1.re * w2.re - w1.im * w2.im, w1.re * w2.im + w1.im * w2.re};
  const double* __restrict re = v.re;
  const double* __restrict im = v.im;
  double* __restrict to_re = v.to_re;
  double* __restrict to_im = v.to_im;
#pragma omp simd
  for (std::size_t q = 0; q < run; ++q) {
    const std::size_t b = q + apart;
    const std::size_t c = b + apart;
    const std::size_t d = c + apart;
    const double sum_ac_re = re[q] + re[c];
    const double sum_ac_im = im[q] + im[c];
    const double dif_ac_re = re[q] - re[c];
    const double dif_ac_im = im[q] - im[c];
    const double sum_bd_re = re[b] + re[d];
    const double sum_bd_im = im[b] + im[d];
    const double dif_bd_re = re[b] - re[d];
    const double dif_bd_im = im[b] - im[d];
    to_re[q] = sum_ac_re + sum_bd_re;
    to_im[q] = sum_ac_im + sum_bd_im;
    put(to_re, to_im, q + run, dif_ac_re + dif_bd_im, dif_ac_im - dif_bd_re, w1);
    put(to_re, to_im, q + 2 * run, sum_ac_re - sum_bd_re, sum_ac_im - sum_bd_im, w2);
    put(to_re, to_im, q + 3 * run, dif_ac_re - dif_bd_im, dif_ac_im + dif_bd_re, w3);
  }
}

/// A radix-2 butterfly: the last pass if the length is an odd power of two.
void butterfly2(const Views& v, std::size_t run) {
  for (std::size_t q = 0; q < run; ++q) {
    v.to_re[q] = v.re[q] + v.re[q + run];
    v.to_im[q] = v.im[q] + v.im[q + run];
    v.to_re[q + run] = v.re[q] - v.re[q + run];
    v.to_im[q + run] = v.im[q] - v.im[q + run];
  }
}

}  // namespace

Fft::Fft(int n) : n_(n) {
  const auto size = static_cast<std::size_t>(n);
  for (std::size_t j = 0; j < size; ++j) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(j) / n;
    cosine_.push_back(std::cos(angle));
    sine_.push_back(std::sin(angle));
  }
  for (Part* part : {&real_, &imag_, &other_real_, &other_imag_}) part->resize(size * lines);
}

void Fft::transform(Part& re, Part& im, Part& other_re, Part& other_im) {
  auto n = static_cast<std::size_t>(n_);
  std::size_t run = lines;  // numbers with the same factor
  std::size_t step = 1;     // in the table of factors
  for (; n >= 4; n /= 4, run *= 4, step *= 4) {
    const std::size_t quarter = n / 4;
    for (std::size_t p = 0; p < quarter; ++p) {
      butterfly4({.re = re.data() + run * p,
                  .im = im.data() + run * p,
                  .to_re = other_re.data() + 4 * run * p,
                  .to_im = other_im.data() + 4 * run * p},
                 run * quarter, run, {cosine_[p * step], -sine_[p * step]});
    }
    std::swap(re, other_re);
    std::swap(im, other_im);
  }
  if (n == 2) {
    butterfly2({re.data(), im.data(), other_re.data(), other_im.data()}, run);
    std::swap(re, other_re);
    std::swap(im, other_im);
  }
}

}  // namespace roundtrip::npb::ft
