#include <array>

#include "ddtbench/apps/apps.hpp"
#include "ddtbench/apps/index_list.hpp"
#include "ddtbench/array.hpp"

namespace roundtrip::ddtbench {
namespace {

/// Numbers of points on the border with a neighbour, and of all points of a rank.
struct Border {
  int points;
  int all;
};

/// SPECFEM3D_GLOBE, outer core: one acceleration potential for each point of an unstructured
/// border.
class Specfem3dOc final : public MicroApp {
 public:
  explicit Specfem3dOc(const Border& border)
      : list_(border.points, border.all), field_(static_cast<std::size_t>(border.all)) {}

  [[nodiscard]] MPI_Datatype element() const override { return MPI_FLOAT; }
  [[nodiscard]] bool in_place() const override { return true; }
  bool shuffle(std::mt19937& random) override {
    list_.shuffle(random);
    return true;
  }

  [[nodiscard]] Region sent() const override {
    Region region;
    for (const int point : list_.get()) {
      region.add(&field_[static_cast<std::size_t>(point)], sizeof(float));
    }
    return region;
  }
  [[nodiscard]] Region received() const override { return sent(); }

  [[nodiscard]] Datatypes commit(Origin /*origin*/) const override {
    return one_type(committed(indexed_block(list_.get(), 1, MPI_FLOAT)), field_.data(),
                    field_.data());
  }

  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<float*>(buffer);
    const float* in = field_.data();
    for (const int point : list_.get()) *out++ = in[point];
  }

  void unpack(const char* buffer) const override {
    const auto* in = reinterpret_cast<const float*>(buffer);
    float* out = field_.data();
    for (const int point : list_.get()) out[point] = *in++;
  }

 private:
  IndexList list_;
  Array<float> field_;
};

}  // namespace

void add_specfem3d_oc(Catalogue& catalogue) {
  constexpr std::array<Border, 4> borders = {
      {{3225, 88881}, {1897, 38585}, {877, 12857}, {493, 3697}}};
  for (const Border& border : borders) {
    const auto bytes = sizeof(float) * static_cast<std::size_t>(border.points);
    add_case<Specfem3dOc>(
        catalogue, "SPECFEM3D_oc",
        "points=" + std::to_string(border.points) + " of " + std::to_string(border.all), bytes,
        border);
  }
}

}  // namespace roundtrip::ddtbench
