#pragma once

#include <mpi.h>

#include <cstddef>
#include <random>

#include "ddtbench/region.hpp"
#include "ddtbench/type.hpp"

namespace roundtrip::ddtbench {

/// Origin of the displacements of a struct over several arrays.
enum class Origin {
  bottom,  ///< address zero; the type is used with MPI_BOTTOM, as in the applications
  array    ///< the first array; for an MPI that refuses MPI_BOTTOM
};

/// One end of a transfer: `count` times `type` at `base`.
struct Place {
  void* base = nullptr;
  int count = 1;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// Committed datatypes of a micro-app, freed on destruction, and their places.
struct Datatypes {
  Type sent;
  Type received;  ///< null if both ends use `sent`
  Place send;
  Place receive;
};

/// Datatypes if both ends use the same type.
inline Datatypes one_type(Type type, void* send_base, void* receive_base) {
  const Place send{.base = send_base, .count = 1, .type = type.get()};
  const Place receive{.base = receive_base, .count = 1, .type = type.get()};
  return {.sent = std::move(type), .received = {}, .send = send, .receive = receive};
}

/// Datatypes if each end uses its own type; `count` of each.
inline Datatypes two_types(Type sent, void* send_base, Type received, void* receive_base,
                           int count = 1) {
  const Place send{.base = send_base, .count = count, .type = sent.get()};
  const Place receive{.base = receive_base, .count = count, .type = received.get()};
  return {
      .sent = std::move(sent), .received = std::move(received), .send = send, .receive = receive};
}

/// How one application accesses the data that it sends and receives: its arrays, its datatypes and
/// its pack loops (Schneider, Gerstenberger, Hoefler, EuroMPI'12).
class MicroApp {
 public:
  MicroApp() = default;
  virtual ~MicroApp() = default;
  MicroApp(const MicroApp&) = delete;
  MicroApp& operator=(const MicroApp&) = delete;

  /// Element type of the message: MPI_FLOAT or MPI_DOUBLE.
  [[nodiscard]] virtual MPI_Datatype element() const = 0;

  /// Memory of the sent and of the received data, in the order of the datatypes.
  [[nodiscard]] virtual Region sent() const = 0;
  [[nodiscard]] virtual Region received() const = 0;

  /// Returns new datatypes; throws Refusal.
  [[nodiscard]] virtual Datatypes commit(Origin origin) const = 0;

  /// The application's loop nest, value by value: pack() copies all data to be sent into `buffer`,
  /// unpack() copies all received data out of it. Any order is allowed if both use the same.
  virtual void pack(char* buffer) const = 0;
  virtual void unpack(const char* buffer) const = 0;

  /// Whether the app has tuned loops with the same result. It has them if they are more than 10 %
  /// faster at some message size (`--pack-speed` measures this on the present machine).
  [[nodiscard]] virtual bool has_tuned_loops() const { return false; }
  virtual void pack_tuned(char* buffer) const { pack(buffer); }
  virtual void unpack_tuned(const char* buffer) const { unpack(buffer); }

  /// Whether the type is a struct over absolute addresses.
  [[nodiscard]] virtual bool absolute() const { return false; }

  /// Whether data are sent from and received in the same memory.
  [[nodiscard]] virtual bool in_place() const { return false; }

  /// Memory in which a received packed message needs no unpacking; null if there is none.
  [[nodiscard]] virtual char* landing() const { return nullptr; }

  /// Shuffles index lists. Returns whether the app has any; if so, earlier regions and datatypes
  /// are invalid.
  virtual bool shuffle(std::mt19937& /*random*/) { return false; }

  /// Whether the exchange is all-to-all, instead of between two ranks.
  [[nodiscard]] virtual bool collective() const { return false; }

  /// Collective apps: swaps the memory to send from and to receive in.
  virtual void turn() {}
};

}  // namespace roundtrip::ddtbench
