#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "ddtbench/array.hpp"
#include "ddtbench/micro_app.hpp"

namespace roundtrip::ddtbench {

/// Communicator of a case, this rank in it, and its size.
struct Ends {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;

  [[nodiscard]] int peer() const { return 1 - rank; }  ///< only for two ranks
};

/// Contiguous memory for packed messages, one to send and one to receive.
struct Buffers {
  Array<char> out;
  Array<char> in;
  std::size_t capacity;

  explicit Buffers(std::size_t bytes) : out(bytes), in(bytes), capacity(bytes) {}
};

/// Inputs of a method; `app` and `shared` must outlive it.
struct Setting {
  MicroApp& app;
  Ends ends;
  std::size_t bytes;                    ///< of the app's message
  Buffers* shared = nullptr;            ///< buffers of all methods; null: a method makes its own
  Origin pack_origin = Origin::bottom;  ///< of the datatypes given to MPI_Pack
};

/// Memory of the sent and of the received data, in the order of the message.
struct Transfer {
  Region sent;
  Region received;
  bool in_place = false;  ///< both are the same memory
};

/// A way to get the data from one rank's arrays to another's.
class Method {
 public:
  explicit Method(const Setting& setting) : setting_(setting) {}
  virtual ~Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  /// Makes and frees datatypes and buffers.
  virtual void create() = 0;
  virtual void destroy() = 0;

  virtual void pack() {}
  virtual void unpack() {}

  /// Between two ranks.
  virtual void send() = 0;
  virtual void receive() = 0;
  /// All-to-all.
  virtual void exchange() = 0;

  /// All-to-all: reverses the direction of the next message.
  virtual void turn() {}

  /// Memory of the data: the app's arrays, except for the method `reference`.
  [[nodiscard]] virtual Transfer transfer() const {
    return {.sent = setting_.app.sent(),
            .received = setting_.app.received(),
            .in_place = setting_.app.in_place()};
  }

 protected:
  [[nodiscard]] const Setting& setting() const { return setting_; }

 private:
  Setting setting_;
};

/// A method's name, and its epochs in the measurement loop.
struct MethodInfo {
  std::string_view name;  ///< as in the study
  bool creates;           ///< ddt_create_overhead, ddt_free_overhead
  bool packs;             ///< pack, unpack
  bool moves_data;        ///< between the app's arrays
  bool is_ours;           ///< not in the study; only for apps with tuned loops
  std::unique_ptr<Method> (*make)(const Setting&);
};

/// mpi_ddt, manual, mpi_pack_ddt, reference, and manual-tuned.
const std::array<MethodInfo, 5>& methods();

}  // namespace roundtrip::ddtbench
