#include "ddtbench/apps/wrf.hpp"

namespace roundtrip::ddtbench {
namespace {

/// Faces as nested vectors.
class WrfVectors final : public Wrf {
 public:
  using Wrf::Wrf;

 protected:
  [[nodiscard]] Type face(const WrfField& field) const override {
    const WrfSize& size = field.size;
    const int dim_i = size.memory_i.size();
    if (field.dims() == 2) {
      return vector(size.face_j.size(), size.face_i.size(), dim_i, MPI_FLOAT);
    }
    const auto plane = static_cast<MPI_Aint>(sizeof(float)) * dim_i * field.levels;
    const Type slice = vector(field.levels, size.face_i.size(), dim_i, MPI_FLOAT);
    Type box = hvector(size.face_j.size(), 1, plane, slice);
    if (field.dims() == 3) return box;
    return hvector(1, 1, plane * size.memory_j.size(), box);
  }

  [[nodiscard]] const void* start(const WrfField& field) const override { return field.row(0, 0); }
};

}  // namespace

void add_wrf_vec(Catalogue& catalogue) {
  for (const WrfSize& size : wrf_y_sizes) {
    add_case<WrfVectors>(catalogue, "WRF_y_vec", size.text(), size.bytes(), size);
  }
  for (const WrfSize& size : wrf_x_sizes) {
    add_case<WrfVectors>(catalogue, "WRF_x_vec", size.text(), size.bytes(), size);
  }
}

}  // namespace roundtrip::ddtbench
