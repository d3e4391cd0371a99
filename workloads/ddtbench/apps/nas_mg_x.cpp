#include "ddtbench/apps/apps.hpp"
#include "ddtbench/apps/nas_mg.hpp"

namespace roundtrip::ddtbench {
namespace {

/// NAS MG, fluid dynamics, face in x: single values, one per row. The layer i = D1-2 is
/// sent, i = D1-1 received.
class NasMgX final : public MicroApp {
 public:
  explicit NasMgX(const MgSize& size) : field_(size) {}

  [[nodiscard]] MPI_Datatype element() const override { return MPI_DOUBLE; }

  [[nodiscard]] Region sent() const override { return face(size().d1 - 2); }
  [[nodiscard]] Region received() const override { return face(size().d1 - 1); }

  [[nodiscard]] Datatypes commit(Origin /*origin*/) const override {
    const Type column = vector(size().d2 - 2, 1, size().d1, MPI_DOUBLE);
    const auto plane = static_cast<MPI_Aint>(field_.plane() * sizeof(double));
    return one_type(committed(hvector(size().d3 - 2, 1, plane, column)),
                    field_.at(size().d1 - 2, 1, 1), field_.at(size().d1 - 1, 1, 1));
  }

  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<double*>(buffer);
    const std::size_t row = field_.row();
    for (int k = 1; k < size().d3 - 1; ++k) {
      const double* in = field_.at(size().d1 - 2, 1, k);
      for (int j = 1; j < size().d2 - 1; ++j, in += row) *out++ = *in;
    }
  }

  void unpack(const char* buffer) const override {
    const auto* in = reinterpret_cast<const double*>(buffer);
    const std::size_t row = field_.row();
    for (int k = 1; k < size().d3 - 1; ++k) {
      double* out = field_.at(size().d1 - 1, 1, k);
      for (int j = 1; j < size().d2 - 1; ++j, out += row) *out = *in++;
    }
  }

 private:
  [[nodiscard]] const MgSize& size() const { return field_.size(); }

  [[nodiscard]] Region face(int i) const {
    Region region;
    for (int k = 1; k < size().d3 - 1; ++k) {
      for (int j = 1; j < size().d2 - 1; ++j) region.add(field_.at(i, j, k), sizeof(double));
    }
    return region;
  }

  MgField field_;
};

}  // namespace

void add_nas_mg_x(Catalogue& catalogue) {
  for (const MgSize& size : mg_sizes) {
    add_case<NasMgX>(catalogue, "NAS_MG_x", size.text(), mg_face_bytes(size.d2, size.d3), size);
  }
}

}  // namespace roundtrip::ddtbench
