#include "ddtbench/type.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace roundtrip::ddtbench {
namespace {

std::string error_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  std::string message(text.data(), static_cast<std::size_t>(length));
  std::ranges::replace(message, '\n', ' ');
  return message;
}

MPI_Aint address_of(const void* place) {
  MPI_Aint address = 0;
  if (place != MPI_BOTTOM) require(MPI_Get_address(place, &address), "MPI_Get_address");
  return address;
}

}  // namespace

Refusal::Refusal(std::string call, int code)
    : std::runtime_error(call + ": " + error_text(code)), call_(std::move(call)) {}

Type::Type(Type&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)),
      owned_(std::exchange(other.owned_, false)) {}

Type& Type::operator=(Type&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(owned_, other.owned_);
  return *this;
}

Type::~Type() {
  if (owned_) MPI_Type_free(&handle_);
}

Type Type::own(MPI_Datatype handle) {
  Type type(handle);
  type.owned_ = true;
  return type;
}

Type contiguous(int count, const Type& of) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  require(MPI_Type_contiguous(count, of.get(), &made), "MPI_Type_contiguous");
  return Type::own(made);
}

Type vector(int count, int block, int stride, const Type& of) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  require(MPI_Type_vector(count, block, stride, of.get(), &made), "MPI_Type_vector");
  return Type::own(made);
}

Type hvector(int count, int block, MPI_Aint stride_bytes, const Type& of) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  require(MPI_Type_create_hvector(count, block, stride_bytes, of.get(), &made),
          "MPI_Type_create_hvector");
  return Type::own(made);
}

Type indexed_block(std::span<const int> displacements, int block, const Type& of) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  require(MPI_Type_create_indexed_block(static_cast<int>(displacements.size()), block,
                                        displacements.data(), of.get(), &made),
          "MPI_Type_create_indexed_block");
  return Type::own(made);
}

Type subarray(std::span<const int> sizes, std::span<const int> subsizes,
              std::span<const int> starts, const Type& of) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  require(MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), subsizes.data(),
                                   starts.data(), MPI_ORDER_FORTRAN, of.get(), &made),
          "MPI_Type_create_subarray");
  return Type::own(made);
}

Type structure(std::span<const Part> parts, const void* origin) {
  const std::vector<int> lengths(parts.size(), 1);
  std::vector<MPI_Aint> displacements;
  std::vector<MPI_Datatype> types;
  const MPI_Aint start = address_of(origin);
  for (const auto& [address, type] : parts) {
    displacements.push_back(MPI_Aint_diff(address_of(address), start));
    types.push_back(type.get());
  }
  MPI_Datatype made = MPI_DATATYPE_NULL;
  require(MPI_Type_create_struct(static_cast<int>(parts.size()), lengths.data(),
                                 displacements.data(), types.data(), &made),
          "MPI_Type_create_struct");
  return Type::own(made);
}

Type resized(MPI_Aint extent_bytes, const Type& of) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  require(MPI_Type_create_resized(of.get(), 0, extent_bytes, &made), "MPI_Type_create_resized");
  return Type::own(made);
}

Type committed(Type type) {
  MPI_Datatype handle = type.get();
  require(MPI_Type_commit(&handle), "MPI_Type_commit");
  return type;
}

}  // namespace roundtrip::ddtbench
