#pragma once

#include <array>

#include "ddtbench/apps/apps.hpp"
#include "ddtbench/array.hpp"

namespace roundtrip::ddtbench {

/// Fortran's bounds of an index, both inclusive.
struct Bounds {
  int first;
  int last;
  [[nodiscard]] int size() const { return last - first + 1; }
};

/// Horizontal bounds of WRF's fields in memory and of the face that is sent.
struct WrfSize {
  Bounds memory_i, memory_j;
  Bounds face_i, face_j;

  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::string text() const;
};

/// A field f(i, k, j, l) of floats, i contiguous. A two-dimensional field has one k and one l, a
/// three-dimensional field has one l. The face has all k and the last l.
struct WrfField {
  Array<float> data;
  WrfSize size;
  int levels;  ///< number of k
  int fourth;  ///< number of l

  [[nodiscard]] int dims() const { return fourth > 1 ? 4 : (levels > 1 ? 3 : 2); }
  /// The face's first value at level `k` and row `j`, both counted from the face's start.
  [[nodiscard]] float* row(int k, int j) const;
};

/// WRF, atmosphere: faces of four 2-D, three 3-D and two 4-D fields in one message. The two ways to
/// describe them as datatypes are WrfVectors and WrfSubarrays.
class Wrf : public MicroApp {
 public:
  explicit Wrf(const WrfSize& size);

  [[nodiscard]] MPI_Datatype element() const override { return MPI_FLOAT; }
  [[nodiscard]] Region sent() const override;
  [[nodiscard]] Region received() const override { return sent(); }
  [[nodiscard]] bool in_place() const override { return true; }
  [[nodiscard]] bool absolute() const override { return true; }
  [[nodiscard]] Datatypes commit(Origin origin) const override;
  void pack(char* buffer) const override;
  void unpack(const char* buffer) const override;
  [[nodiscard]] bool has_tuned_loops() const override { return true; }
  void pack_tuned(char* buffer) const override;
  void unpack_tuned(const char* buffer) const override;

 protected:
  /// Datatype of the field's face, and its base address.
  [[nodiscard]] virtual Type face(const WrfField& field) const = 0;
  [[nodiscard]] virtual const void* start(const WrfField& field) const = 0;

 private:
  std::array<WrfField, 9> fields_;
};

/// Parameter sets of the study for the faces in x and in y.
extern const std::array<WrfSize, 3> wrf_x_sizes;
extern const std::array<WrfSize, 5> wrf_y_sizes;

}  // namespace roundtrip::ddtbench
