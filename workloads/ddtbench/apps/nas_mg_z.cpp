#include <cstring>

#include "ddtbench/apps/apps.hpp"
#include "ddtbench/apps/nas_mg.hpp"

namespace roundtrip::ddtbench {
namespace {

/// NAS MG, fluid dynamics, face in z: the rows of one plane. The layer k = 1 is sent, k = 0
/// received.
class NasMgZ final : public MicroApp {
 public:
  explicit NasMgZ(const MgSize& size) : field_(size) {}

  [[nodiscard]] MPI_Datatype element() const override { return MPI_DOUBLE; }

  [[nodiscard]] Region sent() const override { return face(1); }
  [[nodiscard]] Region received() const override { return face(0); }

  [[nodiscard]] Datatypes commit(Origin /*origin*/) const override {
    return one_type(committed(vector(size().d2 - 2, size().d1 - 2, size().d1, MPI_DOUBLE)),
                    field_.at(1, 1, 1), field_.at(1, 1, 0));
  }

  void pack(char* buffer) const override {
    auto* out = reinterpret_cast<double*>(buffer);
    for (int j = 1; j < size().d2 - 1; ++j) {
      const double* row = field_.at(1, j, 1);
      for (int i = 0; i < size().d1 - 2; ++i) *out++ = row[i];
    }
  }

  void unpack(const char* buffer) const override {
    const auto* in = reinterpret_cast<const double*>(buffer);
    for (int j = 1; j < size().d2 - 1; ++j) {
      double* row = field_.at(1, j, 0);
      for (int i = 0; i < size().d1 - 2; ++i) row[i] = *in++;
    }
  }

  [[nodiscard]] bool has_tuned_loops() const override { return true; }
  void pack_tuned(char* buffer) const override {
    for (int j = 1; j < size().d2 - 1; ++j, buffer += run()) {
      std::memcpy(buffer, field_.at(1, j, 1), run());
    }
  }

  void unpack_tuned(const char* buffer) const override {
    for (int j = 1; j < size().d2 - 1; ++j, buffer += run()) {
      std::memcpy(field_.at(1, j, 0), buffer, run());
    }
  }

 private:
  [[nodiscard]] const MgSize& size() const { return field_.size(); }
  /// Bytes of the interior of a row.
  [[nodiscard]] std::size_t run() const { return (field_.row() - 2) * sizeof(double); }

  [[nodiscard]] Region face(int k) const {
    Region region;
    for (int j = 1; j < size().d2 - 1; ++j) region.add(field_.at(1, j, k), run());
    return region;
  }

  MgField field_;
};

}  // namespace

void add_nas_mg_z(Catalogue& catalogue) {
  for (const MgSize& size : mg_sizes) {
    add_case<NasMgZ>(catalogue, "NAS_MG_z", size.text(), mg_face_bytes(size.d1, size.d2), size);
  }
}

}  // namespace roundtrip::ddtbench
