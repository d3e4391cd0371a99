#include "npb/ft/transform.hpp"

#include <cmath>

namespace roundtrip::npb::ft {
namespace {

constexpr std::size_t lines = Fft::lines;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Loads `lines` adjacent numbers as element j of a bundle's lines, one number for each line.
void load(const std::complex<double>* from, Fft& fft, std::size_t j) {
  const auto* __restrict numbers = reinterpret_cast<const double*>(from);
  double* __restrict re = fft.real() + j * lines;
  double* __restrict im = fft.imag() + j * lines;
  for (std::size_t l = 0; l < lines; ++l) {
    re[l] = numbers[2 * l];
    im[l] = numbers[2 * l + 1];
  }
}

void load_damped(const std::complex<double>* from, const double* __restrict factor, double common,
                 Fft& fft, std::size_t j) {
  const auto* __restrict numbers = reinterpret_cast<const double*>(from);
  double* __restrict re = fft.real() + j * lines;
  double* __restrict im = fft.imag() + j * lines;
  for (std::size_t l = 0; l < lines; ++l) {
    re[l] = numbers[2 * l] * (factor[l] * common);
    im[l] = numbers[2 * l + 1] * (factor[l] * common);
  }
}

void store(Fft& fft, std::size_t j, std::complex<double>* to) {
  const double* __restrict re = fft.real() + j * lines;
  const double* __restrict im = fft.imag() + j * lines;
  auto* __restrict numbers = reinterpret_cast<double*>(to);
  for (std::size_t l = 0; l < lines; ++l) {
    numbers[2 * l] = re[l];
    numbers[2 * l + 1] = im[l];
  }
}

}  // namespace

Transform::Transform(Comm& comm, const Layout& layout)
    : comm_(comm),
      layout_(layout),
      x_(layout.extent.nx),
      y_(layout.extent.ny),
      z_(layout.extent.nz),
      other_(layout.ranks == 1 ? 0 : layout.size()) {}

void Transform::run(Fft& fft, Direction direction) const {
  if (direction == Direction::forward) {
    fft.forward();
  } else {
    fft.inverse();
  }
}

/// Declares the transforms along all lines of this rank, `length` points each.
void Transform::declare_work(int length, double per_log_of_length) const {
  if (!simulated) return;  // the compiler would not remove the logarithm
  Comm::work(per_log_of_length * std::log(length) * static_cast<double>(layout_.size()));
}

void Transform::forward(Field& field) {
  along_x(field, Direction::forward);
  declare_work(layout_.extent.nx, per_log_of_first);
  along_y(field, Direction::forward);
  declare_work(layout_.extent.ny, per_log_of_first);
  transpose(field);
  along_z(field);
  declare_work(layout_.extent.nz, per_log_of_first);
}

void Transform::inverse(const Field& spectrum, const Damping& damping, Field& field) {
  damped_along_z(spectrum, damping, field);
  Comm::work(per_damping * static_cast<double>(layout_.size()));
  declare_work(layout_.extent.nz, per_log);
  transpose(field);
  along_y(field, Direction::inverse);
  declare_work(layout_.extent.ny, per_log);
  along_x(field, Direction::inverse);
  declare_work(layout_.extent.nx, per_log);
}

void Transform::along_x(Field& field, Direction direction) {
  const std::size_t nx = at(layout_.extent.nx);
  for (std::size_t first = 0; first < field.size(); first += lines * nx) {
    std::complex<double>* const block = field.data() + first;
    for (std::size_t l = 0; l < lines; ++l) {
      for (std::size_t x = 0; x < nx; ++x) {
        x_.real()[x * lines + l] = block[l * nx + x].real();
        x_.imag()[x * lines + l] = block[l * nx + x].imag();
      }
    }
    run(x_, direction);
    const double* re = x_.real();
    const double* im = x_.imag();
    for (std::size_t l = 0; l < lines; ++l) {
      for (std::size_t x = 0; x < nx; ++x) {
        block[l * nx + x] = {re[x * lines + l], im[x * lines + l]};
      }
    }
  }
}

void Transform::along_y(Field& field, Direction direction) {
  for (int z = 0; z < layout_.planes(); ++z) {
    for (std::size_t x = 0; x < at(layout_.extent.nx); x += lines) {
      for (int y = 0; y < layout_.extent.ny; ++y) {
        load(field.data() + layout_.line(y, z) + x, y_, at(y));
      }
      run(y_, direction);
      for (int y = 0; y < layout_.extent.ny; ++y) {
        store(y_, at(y), field.data() + layout_.line(y, z) + x);
      }
    }
  }
}

void Transform::along_z(Field& field) {
  const std::size_t plane = at(layout_.extent.nx) * at(layout_.own_y());
  for (std::size_t xy = 0; xy < plane; xy += lines) {
    for (std::size_t z = 0; z < at(layout_.extent.nz); ++z) load(&field[z * plane + xy], z_, z);
    z_.forward();
    for (std::size_t z = 0; z < at(layout_.extent.nz); ++z) store(z_, z, &field[z * plane + xy]);
  }
}

void Transform::damped_along_z(const Field& spectrum, const Damping& damping, Field& field) {
  const std::size_t nx = at(layout_.extent.nx);
  const std::size_t plane = nx * at(layout_.own_y());
  for (std::size_t xy = 0; xy < plane; xy += lines) {
    const double* of_x = damping.x.data() + xy % nx;
    const double of_y = damping.y[xy / nx];
    for (std::size_t z = 0; z < at(layout_.extent.nz); ++z) {
      load_damped(&spectrum[z * plane + xy], of_x, of_y * damping.z[z], z_, z);
    }
    z_.inverse();
    for (std::size_t z = 0; z < at(layout_.extent.nz); ++z) store(z_, z, &field[z * plane + xy]);
  }
}

/// Converts planes to pencils and back: part p of one layout becomes the planes of rank p in the
/// other.
void Transform::transpose(Field& field) {
  if (comm_.size() == 1) return;
  const std::size_t numbers = 2 * field.size();
  comm_.all_to_all(std::span(reinterpret_cast<const double*>(field.data()), numbers),
                   std::span(reinterpret_cast<double*>(other_.data()), numbers));
  field.swap(other_);
}

}  // namespace roundtrip::npb::ft
