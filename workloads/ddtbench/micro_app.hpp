#pragma once

#include <mpi.h>

#include <cstddef>
#include <random>

#include "ddtbench/region.hpp"
#include "ddtbench/type.hpp"

namespace roundtrip::ddtbench {

/// What the displacements of a struct over several arrays count from.
enum class Origin {
  bottom,  ///< address zero; the type is used with MPI_BOTTOM, as the applications do
  array    ///< the first array; for an MPI that refuses MPI_BOTTOM
};

/// One end of a transfer: `count` times `type` at `base`.
struct Place {
  void* base = nullptr;
  int count = 1;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// Committed datatypes of a micro-app and where they apply; freed with this.
struct Datatypes {
  Type sent;
  Type received;  ///< null where one type serves both ends
  Place send;
  Place receive;
};

/// The types where one serves both ends.
inline Datatypes one_type(Type type, void* send_base, void* receive_base) {
  const Place send{.base = send_base, .count = 1, .type = type.get()};
  const Place receive{.base = receive_base, .count = 1, .type = type.get()};
  return {.sent = std::move(type), .received = {}, .send = send, .receive = receive};
}

/// The types where each end has its own; `count` of each.
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

  /// MPI_FLOAT or MPI_DOUBLE: what the message consists of.
  [[nodiscard]] virtual MPI_Datatype element() const = 0;

  /// Where the data are sent from and received to, in the order of the datatypes.
  [[nodiscard]] virtual Region sent() const = 0;
  [[nodiscard]] virtual Region received() const = 0;

  /// New datatypes; throws Refusal.
  [[nodiscard]] virtual Datatypes commit(Origin origin) const = 0;

  /// The application's loop nest, value by value: pack() copies all data to be sent into `buffer`,
  /// unpack() all received data out of it. Any order is allowed if both use the same.
  virtual void pack(char* buffer) const = 0;
  virtual void unpack(const char* buffer) const = 0;

  /// Whether the app also has loops written for speed, with the same result. It has if they are
  /// more than 10 % faster at some message size (`--pack-speed` measures this on the present
  /// machine).
  [[nodiscard]] virtual bool has_tuned_loops() const { return false; }
  virtual void pack_tuned(char* buffer) const { pack(buffer); }
  virtual void unpack_tuned(const char* buffer) const { unpack(buffer); }

  /// Whether the type is a struct over absolute addresses.
  [[nodiscard]] virtual bool absolute() const { return false; }

  /// Whether data are received in the place where they are sent from.
  [[nodiscard]] virtual bool in_place() const { return false; }

  /// Where a packed message can be received so that it needs no unpacking; null if nowhere.
  [[nodiscard]] virtual char* landing() const { return nullptr; }

  /// Puts index lists in a new random order. Returns whether there are any; if so, regions and
  /// datatypes made before are invalid.
  virtual bool shuffle(std::mt19937& /*random*/) { return false; }

  /// All ranks exchange with all, instead of two with each other.
  [[nodiscard]] virtual bool collective() const { return false; }

  /// Collective apps: what was received is what is sent next, and the other way round.
  virtual void turn() {}
};

}  // namespace roundtrip::ddtbench
