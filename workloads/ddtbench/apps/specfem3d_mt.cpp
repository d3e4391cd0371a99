#include <array>

#include "ddtbench/apps/apps.hpp"
#include "ddtbench/array.hpp"
#include "ddtbench/copy.hpp"

namespace roundtrip::ddtbench {
namespace {

/// Values f(D1, D2, D3), the first index contiguous.
struct MtSize {
  int d1, d2, d3;
};

/// SPECFEM3D_GLOBE, transposition: sends the part of f(3, 2, D3) with the first index in D2. It
/// arrives in the receiver's order and needs no unpacking.
class Specfem3dMt final : public MicroApp {
 public:
  explicit Specfem3dMt(const MtSize& size)
      : size_(size),
        from_(static_cast<std::size_t>(size.d1 * size.d2 * size.d3)),
        to_(static_cast<std::size_t>(size.d1 * size.d3)) {}

  [[nodiscard]] MPI_Datatype element() const override { return MPI_FLOAT; }

  [[nodiscard]] Region sent() const override {
    Region region;
    for (int k = 0; k < size_.d3; ++k) {
      const int first = size_.d1 * size_.d2 * k;
      region.add(&from_[static_cast<std::size_t>(first)], point_bytes);
    }
    return region;
  }
  [[nodiscard]] Region received() const override {
    Region region;
    region.add(to_.data(), static_cast<std::size_t>(size_.d3) * point_bytes);
    return region;
  }

  [[nodiscard]] Datatypes commit(Origin /*origin*/) const override {
    const Type point = contiguous(size_.d1, MPI_FLOAT);
    return two_types(committed(vector(size_.d3, 1, size_.d2, point)), from_.data(),
                     committed(contiguous(size_.d1 * size_.d3, MPI_FLOAT)), to_.data());
  }

  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<float*>(buffer);
    const float* from = from_.data();
    int n = 0;
    for (int k = 0; k < size_.d3; ++k) {
      for (int i = 0; i < size_.d1; ++i) out[n++] = from[i + size_.d1 * (size_.d2 * k)];
    }
  }
  void unpack(const char* /*buffer*/) const override {}
  [[nodiscard]] char* landing() const override { return reinterpret_cast<char*>(to_.data()); }

  [[nodiscard]] bool has_tuned_loops() const override { return true; }
  void pack_tuned(char* buffer) const override {
    const auto* in = reinterpret_cast<const char*>(from_.data());
    const auto stride = point_bytes * static_cast<std::size_t>(size_.d2);
    for (int k = 0; k < size_.d3; ++k, in += stride, buffer += point_bytes) {
      copy_piece<point_bytes>(buffer, in);
    }
  }

  static constexpr std::size_t point_bytes = 3 * sizeof(float);

 private:
  MtSize size_;
  Array<float> from_;
  Array<float> to_;
};

}  // namespace

void add_specfem3d_mt(Catalogue& catalogue) {
  constexpr std::array<int, 4> lengths = {7600, 6400, 5600, 6200};
  for (const int d3 : lengths) {
    add_case<Specfem3dMt>(catalogue, "SPECFEM3D_mt", "D=3x2x" + std::to_string(d3),
                          Specfem3dMt::point_bytes * static_cast<std::size_t>(d3),
                          MtSize{.d1 = 3, .d2 = 2, .d3 = d3});
  }
}

}  // namespace roundtrip::ddtbench
