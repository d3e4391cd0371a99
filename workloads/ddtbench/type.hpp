#pragma once

#include <mpi.h>

#include <span>
#include <stdexcept>
#include <string>

namespace roundtrip::ddtbench {

/// The MPI library returned an error from a call that the standard allows.
class Refusal : public std::runtime_error {
 public:
  Refusal(std::string call, int code);
  [[nodiscard]] const std::string& call() const { return call_; }

 private:
  std::string call_;
};

/// Throws Refusal with `call` unless `code` is MPI_SUCCESS (MPI returns errors only if the error
/// handler is MPI_ERRORS_RETURN).
inline void require(int code, const char* call) {
  if (code != MPI_SUCCESS) throw Refusal(call, code);
}

/// A datatype that is freed with this object, unless it is predefined. The functions below call
/// MPI's constructors, and throw Refusal.
class Type {
 public:
  Type() = default;
  /// A predefined type, e.g. MPI_DOUBLE.
  Type(MPI_Datatype predefined) : handle_(predefined) {}  // NOLINT(*-explicit-*): reads as in MPI
  Type(Type&& other) noexcept;
  Type& operator=(Type&& other) noexcept;
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
  ~Type();

  /// Takes ownership of a handle created by MPI.
  static Type own(MPI_Datatype handle);

  [[nodiscard]] MPI_Datatype get() const { return handle_; }

 private:
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
  bool owned_ = false;
};

/// Part of a struct: a type at an address.
struct Part {
  const void* address;
  const Type& type;
};

Type contiguous(int count, const Type& of);
Type vector(int count, int block, int stride, const Type& of);
Type hvector(int count, int block, MPI_Aint stride_bytes, const Type& of);
Type indexed_block(std::span<const int> displacements, int block, const Type& of);
/// In Fortran's order: the first dimension is contiguous.
Type subarray(std::span<const int> sizes, std::span<const int> subsizes,
              std::span<const int> starts, const Type& of);
/// A struct of parts, with displacements from `origin`, or absolute if that is MPI_BOTTOM.
Type structure(std::span<const Part> parts, const void* origin);
Type resized(MPI_Aint extent_bytes, const Type& of);

/// Commits the type for use in communication; returns it.
Type committed(Type type);

}  // namespace roundtrip::ddtbench
