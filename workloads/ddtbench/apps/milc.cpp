#include <array>

#include "ddtbench/apps/apps.hpp"
#include "ddtbench/array.hpp"

namespace roundtrip::ddtbench {
namespace {

constexpr std::size_t su3_vector_floats = 6;
constexpr std::size_t su3_vector_bytes = su3_vector_floats * sizeof(float);

/// Sites of the local lattice in each direction; the even ones come first in memory.
struct Lattice {
  int x, y, z, t;

  [[nodiscard]] int half_plane() const { return x * y / 2; }
  [[nodiscard]] int half_volume() const { return half_plane() * z; }
  [[nodiscard]] int sites() const { return x * y * z * t; }
};

/// MILC, lattice quantum chromodynamics: the z-down face of a field of su3 vectors. It has two half
/// planes for each t, one of the even and one of the odd sites.
class Milc final : public MicroApp {
 public:
  explicit Milc(const Lattice& lattice)
      : lattice_(lattice),
        field_(static_cast<std::size_t>(lattice.sites()) * su3_vector_floats),
        run_(static_cast<std::size_t>(lattice.half_plane()) * su3_vector_bytes) {}

  [[nodiscard]] MPI_Datatype element() const override { return MPI_FLOAT; }
  [[nodiscard]] bool in_place() const override { return true; }

  [[nodiscard]] Region sent() const override {
    Region region;
    for (int parity = 0; parity < 2; ++parity) {
      for (int t = 0; t < lattice_.t; ++t) region.add(half_plane(parity, t), run_);
    }
    return region;
  }
  [[nodiscard]] Region received() const override { return sent(); }

  [[nodiscard]] Datatypes commit(Origin /*origin*/) const override {
    const Type su3_vector = contiguous(static_cast<int>(su3_vector_floats), MPI_FLOAT);
    const Type even = vector(lattice_.t, lattice_.half_plane(), lattice_.half_volume(), su3_vector);
    const auto odd_offset = static_cast<MPI_Aint>(su3_vector_bytes) * (lattice_.sites() / 2);
    return one_type(committed(hvector(2, 1, odd_offset, even)), field_.data(), field_.data());
  }

  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<float*>(buffer);
    each_value([&](const float& value) { *out++ = value; });
  }
  void unpack(const char* buffer) const override {
    const auto* in = reinterpret_cast<const float*>(buffer);
    each_value([&](float& value) { value = *in++; });
  }

 private:
  [[nodiscard]] float* half_plane(int parity, int t) const {
    const int site = parity * (lattice_.sites() / 2) + t * lattice_.half_volume();
    return &field_[static_cast<std::size_t>(site) * su3_vector_floats];
  }

  /// Calls `visit` with each value of the face, in the order of the message.
  template <class Visit>
  void each_value(Visit visit) const {
    for (int parity = 0; parity < 2; ++parity) {
      for (int t = 0; t < lattice_.t; ++t) {
        float* su3_vector = half_plane(parity, t);
        for (int site = 0; site < lattice_.half_plane(); ++site, su3_vector += su3_vector_floats) {
          for (std::size_t i = 0; i < su3_vector_floats; ++i) visit(su3_vector[i]);
        }
      }
    }
  }

  Lattice lattice_;
  Array<float> field_;
  std::size_t run_;  ///< bytes of a half plane
};

}  // namespace

void add_milc(Catalogue& catalogue) {
  constexpr std::array<Lattice, 4> lattices = {
      {{16, 16, 16, 16}, {8, 16, 16, 16}, {8, 8, 8, 16}, {8, 8, 8, 8}}};
  for (const Lattice& lattice : lattices) {
    const auto bytes = su3_vector_bytes * static_cast<std::size_t>(2 * lattice.half_plane()) *
                       static_cast<std::size_t>(lattice.t);
    add_case<Milc>(catalogue, "MILC_su3_zd",
                   "L=" + std::to_string(lattice.x) + 'x' + std::to_string(lattice.y) + 'x' +
                       std::to_string(lattice.z) + 'x' + std::to_string(lattice.t),
                   bytes, lattice);
  }
}

}  // namespace roundtrip::ddtbench
