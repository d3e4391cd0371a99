#include "ddtbench/apps/wrf.hpp"

namespace roundtrip::ddtbench {
namespace {

/// Faces as subarrays.
class WrfSubarrays final : public Wrf {
 public:
  using Wrf::Wrf;

 protected:
  [[nodiscard]] Type face(const WrfField& field) const override {
    const WrfSize& size = field.size;
    const int i = size.face_i.first - size.memory_i.first;
    const int j = size.face_j.first - size.memory_j.first;
    if (field.dims() == 2) {
      return subarray(std::array{size.memory_i.size(), size.memory_j.size()},
                      std::array{size.face_i.size(), size.face_j.size()}, std::array{i, j},
                      MPI_FLOAT);
    }
    const std::array sizes = {size.memory_i.size(), field.levels, size.memory_j.size(),
                              field.fourth};
    const std::array subsizes = {size.face_i.size(), field.levels, size.face_j.size(), 1};
    const std::array starts = {i, 0, j, field.fourth - 1};
    const auto dims = static_cast<std::size_t>(field.dims());
    return subarray(std::span(sizes).first(dims), std::span(subsizes).first(dims),
                    std::span(starts).first(dims), MPI_FLOAT);
  }

  [[nodiscard]] const void* start(const WrfField& field) const override {
    return field.data.data();
  }
};

}  // namespace

void add_wrf_sa(Catalogue& catalogue) {
  for (const WrfSize& size : wrf_y_sizes) {
    add_case<WrfSubarrays>(catalogue, "WRF_y_sa", size.text(), size.bytes(), size);
  }
  for (const WrfSize& size : wrf_x_sizes) {
    add_case<WrfSubarrays>(catalogue, "WRF_x_sa", size.text(), size.bytes(), size);
  }
}

}  // namespace roundtrip::ddtbench
