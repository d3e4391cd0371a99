#include <cstring>

#include "ddtbench/apps/apps.hpp"
#include "ddtbench/apps/nas_lu.hpp"

namespace roundtrip::ddtbench {
namespace {

/// NAS LU, fluid dynamics, face in x: a row of points. The row is contiguous, but the application
/// copies it anyway. Row N is sent, row 0 is received.
class NasLuX final : public MicroApp {
 public:
  explicit NasLuX(int n) : field_(n) {}

  [[nodiscard]] MPI_Datatype element() const override { return MPI_DOUBLE; }

  [[nodiscard]] Region sent() const override { return face(field_.n()); }
  [[nodiscard]] Region received() const override { return face(0); }

  [[nodiscard]] Datatypes commit(Origin /*origin*/) const override {
    return one_type(committed(contiguous(LuField::values * field_.n(), MPI_DOUBLE)),
                    field_.point(1, field_.n()), field_.point(1, 0));
  }

  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<double*>(buffer);
    field_.each_value(field_.point(1, field_.n()), LuField::values,
                      [&](const double& value) { *out++ = value; });
  }
  void unpack(const char* buffer) const override {
    const auto* in = reinterpret_cast<const double*>(buffer);
    field_.each_value(field_.point(1, 0), LuField::values, [&](double& value) { value = *in++; });
  }

  [[nodiscard]] bool has_tuned_loops() const override { return true; }
  void pack_tuned(char* buffer) const override {
    std::memcpy(buffer, field_.point(1, field_.n()), field_.face_bytes());
  }
  void unpack_tuned(const char* buffer) const override {
    std::memcpy(field_.point(1, 0), buffer, field_.face_bytes());
  }

 private:
  [[nodiscard]] Region face(int row) const {
    Region region;
    region.add(field_.point(1, row), field_.face_bytes());
    return region;
  }

  LuField field_;
};

}  // namespace

void add_nas_lu_x(Catalogue& catalogue) {
  for (const int n : lu_sizes) {
    const auto bytes = static_cast<std::size_t>(n) * LuField::point_bytes;
    add_case<NasLuX>(catalogue, "NAS_LU_x", "N=" + std::to_string(n), bytes, n);
  }
}

}  // namespace roundtrip::ddtbench
