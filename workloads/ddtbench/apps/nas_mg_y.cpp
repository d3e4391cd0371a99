#include <cstring>

#include "ddtbench/apps/apps.hpp"
#include "ddtbench/apps/nas_mg.hpp"

namespace roundtrip::ddtbench {
namespace {

/// NAS MG, fluid dynamics, face in y: one row of each plane. The layer j = D2-2 is sent, j = D2-1
/// received.
class NasMgY final : public MicroApp {
 public:
  explicit NasMgY(const MgSize& size) : field_(size) {}

  [[nodiscard]] MPI_Datatype element() const override { return MPI_DOUBLE; }

  [[nodiscard]] Region sent() const override { return face(size().d2 - 2); }
  [[nodiscard]] Region received() const override { return face(size().d2 - 1); }

  [[nodiscard]] Datatypes commit(Origin /*origin*/) const override {
    return one_type(
        committed(vector(size().d3 - 2, size().d1 - 2, size().d1 * size().d2, MPI_DOUBLE)),
        field_.at(1, size().d2 - 2, 1), field_.at(1, size().d2 - 1, 1));
  }

  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<double*>(buffer);
    for (int k = 1; k < size().d3 - 1; ++k) {
      const double* row = field_.at(1, size().d2 - 2, k);
      for (int i = 0; i < size().d1 - 2; ++i) *out++ = row[i];
    }
  }

  void unpack(const char* buffer) const override {
    const auto* in = reinterpret_cast<const double*>(buffer);
    for (int k = 1; k < size().d3 - 1; ++k) {
      double* row = field_.at(1, size().d2 - 1, k);
      for (int i = 0; i < size().d1 - 2; ++i) row[i] = *in++;
    }
  }

  [[nodiscard]] bool has_tuned_loops() const override { return true; }
  void pack_tuned(char* buffer) const override {
    for (int k = 1; k < size().d3 - 1; ++k, buffer += run()) {
      std::memcpy(buffer, field_.at(1, size().d2 - 2, k), run());
    }
  }

  void unpack_tuned(const char* buffer) const override {
    for (int k = 1; k < size().d3 - 1; ++k, buffer += run()) {
      std::memcpy(field_.at(1, size().d2 - 1, k), buffer, run());
    }
  }

 private:
  [[nodiscard]] const MgSize& size() const { return field_.size(); }
  /// Bytes of the interior of a row.
  [[nodiscard]] std::size_t run() const { return (field_.row() - 2) * sizeof(double); }

  [[nodiscard]] Region face(int j) const {
    Region region;
    for (int k = 1; k < size().d3 - 1; ++k) region.add(field_.at(1, j, k), run());
    return region;
  }

  MgField field_;
};

}  // namespace

void add_nas_mg_y(Catalogue& catalogue) {
  for (const MgSize& size : mg_sizes) {
    add_case<NasMgY>(catalogue, "NAS_MG_y", size.text(), mg_face_bytes(size.d1, size.d3), size);
  }
}

}  // namespace roundtrip::ddtbench
