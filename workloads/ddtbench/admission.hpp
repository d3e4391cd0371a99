#pragma once

#include <optional>
#include <string>

#include "ddtbench/method.hpp"

namespace roundtrip::ddtbench {

/// A legal call that the MPI library refused, and the consequence for the measurement.
struct Finding {
  std::string call;         ///< e.g. `MPI_Pack with MPI_BOTTOM`
  std::string error;        ///< the call and the library's error text
  std::string consequence;  ///< e.g. `not measured`
};

/// Whether and how a method can be measured with this MPI library.
struct Admission {
  bool runs = true;
  Origin pack_origin = Origin::bottom;
  std::optional<Finding> finding;
};

/// Collective over the ends: each rank tries the method's datatypes on MPI_COMM_SELF, with errors
/// returned, so that a refusal neither aborts the launch nor blocks a rank. Tries MPI_Pack and
/// MPI_Unpack with MPI_BOTTOM and, if that is refused, relative to an array. Throws
/// std::logic_error if the size of a datatype is not `bytes`.
Admission admit(const MethodInfo& method, const MicroApp& app, const Ends& ends, std::size_t bytes);

}  // namespace roundtrip::ddtbench
