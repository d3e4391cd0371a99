#include <cstring>

#include "ddtbench/apps/apps.hpp"
#include "ddtbench/apps/nas_lu.hpp"

namespace roundtrip::ddtbench {
namespace {

/// NAS LU, fluid dynamics, face in y: one point of each row. Column N is sent, column 0 received.
class NasLuY final : public MicroApp {
 public:
  explicit NasLuY(int n) : field_(n) {}

  [[nodiscard]] MPI_Datatype element() const override { return MPI_DOUBLE; }

  [[nodiscard]] Region sent() const override { return face(field_.n()); }
  [[nodiscard]] Region received() const override { return face(0); }

  [[nodiscard]] Datatypes commit(Origin /*origin*/) const override {
    const Type point = contiguous(LuField::values, MPI_DOUBLE);
    return one_type(committed(vector(field_.n(), 1, field_.n() + 2, point)),
                    field_.point(field_.n(), 1), field_.point(0, 1));
  }

  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<double*>(buffer);
    field_.each_value(field_.point(field_.n(), 1), LuField::values * field_.width(),
                      [&](const double& value) { *out++ = value; });
  }
  void unpack(const char* buffer) const override {
    const auto* in = reinterpret_cast<const double*>(buffer);
    field_.each_value(field_.point(0, 1), LuField::values * field_.width(),
                      [&](double& value) { value = *in++; });
  }

  [[nodiscard]] bool has_tuned_loops() const override { return true; }
  void pack_tuned(char* buffer) const override {
    const double* point = field_.point(field_.n(), 1);
    const std::size_t stride = LuField::values * field_.width();
    for (int j = 0; j < field_.n(); ++j, point += stride, buffer += LuField::point_bytes) {
      std::memcpy(buffer, point, LuField::point_bytes);
    }
  }

  void unpack_tuned(const char* buffer) const override {
    double* point = field_.point(0, 1);
    const std::size_t stride = LuField::values * field_.width();
    for (int j = 0; j < field_.n(); ++j, point += stride, buffer += LuField::point_bytes) {
      std::memcpy(point, buffer, LuField::point_bytes);
    }
  }

 private:
  [[nodiscard]] Region face(int column) const {
    Region region;
    for (int j = 1; j <= field_.n(); ++j) {
      region.add(field_.point(column, j), LuField::point_bytes);
    }
    return region;
  }

  LuField field_;
};

}  // namespace

void add_nas_lu_y(Catalogue& catalogue) {
  for (const int n : lu_sizes) {
    const auto bytes = static_cast<std::size_t>(n) * LuField::point_bytes;
    add_case<NasLuY>(catalogue, "NAS_LU_y", "N=" + std::to_string(n), bytes, n);
  }
}

}  // namespace roundtrip::ddtbench
