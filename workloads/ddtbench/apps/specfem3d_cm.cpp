#include <array>

#include "ddtbench/apps/apps.hpp"
#include "ddtbench/apps/index_list.hpp"
#include "ddtbench/array.hpp"
#include "ddtbench/copy.hpp"

namespace roundtrip::ddtbench {
namespace {

constexpr int components = 3;
constexpr std::size_t point_bytes = components * sizeof(float);

/// Numbers of border points and of all points of a rank, in the crust-mantle and the inner core.
struct Layers {
  int mantle_points, core_points;
  int mantle_all, core_all;
};

/// SPECFEM3D_GLOBE, crust-mantle and inner core: one message with the acceleration, of three
/// components, at each point of two unstructured borders.
class Specfem3dCm final : public MicroApp {
 public:
  explicit Specfem3dCm(const Layers& layers)
      : mantle_(layers.mantle_points, layers.mantle_all),
        core_(layers.core_points, layers.core_all) {}

  [[nodiscard]] MPI_Datatype element() const override { return MPI_FLOAT; }
  [[nodiscard]] bool in_place() const override { return true; }
  [[nodiscard]] bool absolute() const override { return true; }
  bool shuffle(std::mt19937& random) override {
    mantle_.list.shuffle(random);
    core_.list.shuffle(random);
    return true;
  }

  [[nodiscard]] Region sent() const override {
    Region region;
    mantle_.describe(region);
    core_.describe(region);
    return region;
  }
  [[nodiscard]] Region received() const override { return sent(); }

  [[nodiscard]] Datatypes commit(Origin origin) const override {
    void* base = origin == Origin::bottom ? MPI_BOTTOM : mantle_.field.data();
    const Type mantle = indexed_block(mantle_.list.times(components), components, MPI_FLOAT);
    const Type core = indexed_block(core_.list.times(components), components, MPI_FLOAT);
    const std::array<Part, 2> parts = {{{.address = mantle_.field.data(), .type = mantle},
                                        {.address = core_.field.data(), .type = core}}};
    return one_type(committed(structure(parts, base)), base, base);
  }

  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<float*>(buffer);
    for (const Layer* layer : {&mantle_, &core_}) {
      layer->each_value([&](const float& value) { *out++ = value; });
    }
  }
  void unpack(const char* buffer) const override {
    const auto* in = reinterpret_cast<const float*>(buffer);
    for (const Layer* layer : {&mantle_, &core_}) {
      layer->each_value([&](float& value) { value = *in++; });
    }
  }

  [[nodiscard]] bool has_tuned_loops() const override { return true; }
  void pack_tuned(char* buffer) const override { core_.pack(mantle_.pack(buffer)); }
  void unpack_tuned(const char* buffer) const override { core_.unpack(mantle_.unpack(buffer)); }

 private:
  struct Layer {
    IndexList list;
    Array<float> field;

    Layer(int points, int all)
        : list(points, all), field(static_cast<std::size_t>(components * all)) {}

    [[nodiscard]] char* at(int point) const {
      return reinterpret_cast<char*>(field.data()) + static_cast<std::size_t>(point) * point_bytes;
    }
    void describe(Region& region) const {
      for (const int point : list.get()) region.add(at(point), point_bytes);
    }
    template <class Visit>
    void each_value(Visit visit) const {
      for (const int point : list.get()) {
        float* values = &field[static_cast<std::size_t>(components * point)];
        for (int i = 0; i < components; ++i) visit(values[i]);
      }
    }
    char* pack(char* buffer) const {
      for (const int point : list.get()) {
        copy_piece<point_bytes>(buffer, at(point));
        buffer += point_bytes;
      }
      return buffer;
    }
    const char* unpack(const char* buffer) const {
      for (const int point : list.get()) {
        copy_piece<point_bytes>(at(point), buffer);
        buffer += point_bytes;
      }
      return buffer;
    }
  };

  Layer mantle_;
  Layer core_;
};

}  // namespace

void add_specfem3d_cm(Catalogue& catalogue) {
  constexpr std::array<Layers, 4> sizes = {{{11797, 3009, 834917, 51153},
                                            {7125, 1729, 396849, 22477},
                                            {3801, 801, 152001, 7209},
                                            {1957, 245, 39929, 1225}}};
  for (const Layers& layers : sizes) {
    const int points = layers.mantle_points + layers.core_points;
    add_case<Specfem3dCm>(
        catalogue, "SPECFEM3D_cm",
        "points=" + std::to_string(layers.mantle_points) + '+' + std::to_string(layers.core_points),
        point_bytes * static_cast<std::size_t>(points), layers);
  }
}

}  // namespace roundtrip::ddtbench
