#include "ddtbench/apps/wrf.hpp"

#include <map>
#include <type_traits>
#include <vector>

#include "ddtbench/copy.hpp"

namespace roundtrip::ddtbench {
namespace {

constexpr int all_levels = 65;

WrfField field(const WrfSize& size, int k, int l) {
  const int values = size.memory_i.size() * size.memory_j.size() * k * l;
  return {.data = Array<float>(static_cast<std::size_t>(values)),
          .size = size,
          .levels = k,
          .fourth = l};
}

/// Calls `visit` with each value of the face, in the order of the message.
template <class Visit>
void each_value(const WrfField& field, Visit visit) {
  for (int j = 0; j < field.size.face_j.size(); ++j) {
    for (int k = 0; k < field.levels; ++k) {
      float* row = field.row(k, j);
      for (int i = 0; i < field.size.face_i.size(); ++i) visit(row[i]);
    }
  }
}

/// Calls `copy` with each row of the face and its bytes, in the order of the message. For rows of
/// three values, as in all faces in x, the compiler knows the size.
template <class Copy>
void each_row(const WrfField& field, Copy copy) {
  constexpr int narrow = 3;
  const int values = field.size.face_i.size();
  const auto rows = [&](auto bytes) {
    for (int j = 0; j < field.size.face_j.size(); ++j) {
      float* row = field.row(0, j);
      for (int k = 0; k < field.levels; ++k, row += field.size.memory_i.size()) copy(row, bytes);
    }
  };
  if (values == narrow) {
    rows(std::integral_constant<std::size_t, narrow * sizeof(float)>());
  } else {
    rows(static_cast<std::size_t>(values) * sizeof(float));
  }
}

std::string text_of(const Bounds& bounds) {
  return std::to_string(bounds.first) + ':' + std::to_string(bounds.last);
}

}  // namespace

const std::array<WrfSize, 3> wrf_x_sizes = {{
    {.memory_i = {-4, 27}, .memory_j = {34, 85}, .face_i = {18, 20}, .face_j = {38, 81}},
    {.memory_i = {4, 27}, .memory_j = {14, 47}, .face_i = {18, 20}, .face_j = {18, 43}},
    {.memory_i = {4, 22}, .memory_j = {4, 27}, .face_i = {13, 15}, .face_j = {8, 23}},
}};

const std::array<WrfSize, 5> wrf_y_sizes = {{
    {.memory_i = {-4, 27}, .memory_j = {34, 85}, .face_i = {1, 23}, .face_j = {41, 43}},
    {.memory_i = {8, 34}, .memory_j = {21, 61}, .face_i = {12, 30}, .face_j = {28, 30}},
    {.memory_i = {4, 27}, .memory_j = {14, 47}, .face_i = {8, 23}, .face_j = {21, 23}},
    {.memory_i = {10, 31}, .memory_j = {10, 39}, .face_i = {14, 27}, .face_j = {17, 19}},
    {.memory_i = {4, 22}, .memory_j = {4, 27}, .face_i = {8, 18}, .face_j = {11, 13}},
}};

std::size_t WrfSize::bytes() const {
  const int values = face_i.size() * face_j.size() * (4 + 3 * all_levels + 2 * all_levels);
  return sizeof(float) * static_cast<std::size_t>(values);
}

std::string WrfSize::text() const {
  return "memory=(" + text_of(memory_i) + ' ' + text_of(memory_j) + "),face=(" + text_of(face_i) +
         ' ' + text_of(face_j) + ')';
}

float* WrfField::row(int k, int j) const {
  const int i = size.face_i.first - size.memory_i.first;
  const int row = size.face_j.first - size.memory_j.first + j;
  const int plane = (fourth - 1) * size.memory_j.size() + row;
  return &data[static_cast<std::size_t>((plane * levels + k) * size.memory_i.size() + i)];
}

Wrf::Wrf(const WrfSize& size)
    : fields_{{field(size, 1, 1), field(size, 1, 1), field(size, 1, 1), field(size, 1, 1),
               field(size, all_levels, 1), field(size, all_levels, 1), field(size, all_levels, 1),
               field(size, all_levels, 2), field(size, all_levels, 2)}} {}

Region Wrf::sent() const {
  Region region;
  for (const WrfField& field : fields_) {
    for (int j = 0; j < field.size.face_j.size(); ++j) {
      for (int k = 0; k < field.levels; ++k) {
        const auto values = static_cast<std::size_t>(field.size.face_i.size());
        region.add(field.row(k, j), values * sizeof(float));
      }
    }
  }
  return region;
}

Datatypes Wrf::commit(Origin origin) const {
  void* base = origin == Origin::bottom ? MPI_BOTTOM : fields_[0].data.data();
  // Fields of the same shape share a datatype, as in an application.
  std::map<int, Type> faces;
  std::vector<Part> parts;
  for (const WrfField& field : fields_) {
    if (!faces.contains(field.dims())) faces.emplace(field.dims(), face(field));
    parts.push_back({.address = start(field), .type = faces.at(field.dims())});
  }
  return one_type(committed(structure(parts, base)), base, base);
}

void Wrf::pack(char* buffer) const {
  auto* out = reinterpret_cast<float*>(buffer);
  for (const WrfField& field : fields_) {
    each_value(field, [&](const float& value) { *out++ = value; });
  }
}

void Wrf::unpack(const char* buffer) const {
  const auto* in = reinterpret_cast<const float*>(buffer);
  for (const WrfField& field : fields_) {
    each_value(field, [&](float& value) { value = *in++; });
  }
}

void Wrf::pack_tuned(char* buffer) const {
  for (const WrfField& field : fields_) {
    each_row(field, [&](float* row, auto bytes) {
      copy_run(buffer, row, bytes);
      buffer += bytes;
    });
  }
}

void Wrf::unpack_tuned(const char* buffer) const {
  for (const WrfField& field : fields_) {
    each_row(field, [&](float* row, auto bytes) {
      copy_run(row, buffer, bytes);
      buffer += bytes;
    });
  }
}

}  // namespace roundtrip::ddtbench
