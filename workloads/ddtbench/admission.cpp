#include "ddtbench/admission.hpp"

#include <stdexcept>

namespace roundtrip::ddtbench {
namespace {

/// During its lifetime, MPI calls return errors instead of aborting. MPI-3 raises datatype errors
/// on MPI_COMM_WORLD, MPI-4 on MPI_COMM_SELF.
class ErrorsReturn {
 public:
  ErrorsReturn() { set(MPI_ERRORS_RETURN); }
  ~ErrorsReturn() { set(MPI_ERRORS_ARE_FATAL); }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;

 private:
  static void set(MPI_Errhandler handler) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  }
};

void require_size(const Place& place, std::size_t bytes) {
  int size = 0;
  require(MPI_Type_size(place.type, &size), "MPI_Type_size");
  if (static_cast<std::size_t>(size) * static_cast<std::size_t>(place.count) != bytes) {
    throw std::logic_error("datatype of " + std::to_string(size) + " bytes, message of " +
                           std::to_string(bytes));
  }
}

std::string with_base(const char* call, const Place& place) {
  return std::string(call) + (place.base == MPI_BOTTOM ? " with MPI_BOTTOM" : "");
}

/// Sends to this rank: out of the arrays into a contiguous buffer, then from it into the arrays.
void try_transfer(const MicroApp& app, std::size_t bytes) {
  const Datatypes types = app.commit(Origin::bottom);
  require_size(types.send, bytes);
  require_size(types.receive, bytes);
  const Array<char> buffer(bytes);
  int element_bytes = 1;
  MPI_Type_size(app.element(), &element_bytes);
  const int count = static_cast<int>(bytes) / element_bytes;
  const auto& [from, from_count, from_type] = types.send;
  const auto& [to, to_count, to_type] = types.receive;
  require(MPI_Sendrecv(from, from_count, from_type, 0, 0, buffer.data(), count, app.element(), 0, 0,
                       MPI_COMM_SELF, MPI_STATUS_IGNORE),
          with_base("MPI_Sendrecv", types.send).c_str());
  require(MPI_Sendrecv(buffer.data(), count, app.element(), 0, 0, to, to_count, to_type, 0, 0,
                       MPI_COMM_SELF, MPI_STATUS_IGNORE),
          with_base("MPI_Sendrecv", types.receive).c_str());
}

void try_packing(const MicroApp& app, std::size_t bytes, Origin origin) {
  const Datatypes types = app.commit(origin);
  require_size(types.send, bytes);
  require_size(types.receive, bytes);
  int capacity = 0;
  require(MPI_Pack_size(types.send.count, types.send.type, MPI_COMM_SELF, &capacity),
          "MPI_Pack_size");
  const Array<char> buffer(static_cast<std::size_t>(capacity));
  int position = 0;
  require(MPI_Pack(types.send.base, types.send.count, types.send.type, buffer.data(), capacity,
                   &position, MPI_COMM_SELF),
          with_base("MPI_Pack", types.send).c_str());
  position = 0;
  require(MPI_Unpack(buffer.data(), capacity, &position, types.receive.base, types.receive.count,
                     types.receive.type, MPI_COMM_SELF),
          with_base("MPI_Unpack", types.receive).c_str());
}

Finding finding(const Refusal& refusal, const char* consequence) {
  return {.call = refusal.call(), .error = refusal.what(), .consequence = consequence};
}

constexpr const char* not_measured = "not measured";

Admission try_pack_ddt(const MicroApp& app, std::size_t bytes) {
  try {
    try_packing(app, bytes, Origin::bottom);
    return {};
  } catch (const Refusal& refusal) {
    Admission admission{
        .runs = true,
        .pack_origin = Origin::array,
        .finding = finding(refusal, "measured with addresses relative to an array")};
    if (!app.absolute()) return {.runs = false, .finding = finding(refusal, not_measured)};
    try {
      try_packing(app, bytes, Origin::array);
    } catch (const Refusal& again) {
      return {.runs = false, .finding = finding(again, not_measured)};
    }
    return admission;
  }
}

Admission try_alone(const MethodInfo& method, const MicroApp& app, std::size_t bytes) {
  const ErrorsReturn errors_return;
  if (method.name == "mpi_pack_ddt") return try_pack_ddt(app, bytes);
  if (method.name != "mpi_ddt") return {};
  try {
    try_transfer(app, bytes);
    return {};
  } catch (const Refusal& refusal) {
    return {.runs = false, .finding = finding(refusal, not_measured)};
  }
}

}  // namespace

Admission admit(const MethodInfo& method, const MicroApp& app, const Ends& ends,
                std::size_t bytes) {
  enum Verdict : int { as_is, relative, refused };
  Admission admission = try_alone(method, app, bytes);
  int verdict = as_is;
  if (admission.pack_origin == Origin::array) verdict = relative;
  if (!admission.runs) verdict = refused;
  // All ranks take the worst verdict of any.
  MPI_Allreduce(MPI_IN_PLACE, &verdict, 1, MPI_INT, MPI_MAX, ends.comm);
  admission.runs = verdict != refused;
  if (verdict == relative) admission.pack_origin = Origin::array;
  return admission;
}

}  // namespace roundtrip::ddtbench
