#pragma once

#include <mpi.h>

#include <boost/mpi/communicator.hpp>
#include <boost/mpi/datatype.hpp>
#include <boost/mpi/request.hpp>
#include <boost/mpl/bool.hpp>
#include <string_view>

/// The Boost.MPI study's five ways to move n bytes (Boost.MPI documentation, "Performance
/// Evaluation"). Each is a class with a `name`, an `Element` of one byte, and blocking calls on
/// arrays of it: `send`, `receive` and `exchange` (both at once). All are inline, so that the loop
/// around them is as tight as in C.
namespace roundtrip::netpipe {

/// The other end: the communicator, and the rank in it.
struct Peer {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = MPI_PROC_NULL;
};

/// Tag of every measured message, as in NetPIPE.
inline constexpr int message_tag = 1;

/// One byte to Boost.MPI: an object to be serialized, or (`Datatype`) one with an MPI datatype.
template <bool Datatype>
struct Char {
  char value;

  template <class Archive>
  void serialize(Archive& archive, unsigned /*version*/) {
    archive& value;
  }
};

/// Calls MPI with a datatype given at run time.
class TypedTransport {
 public:
  using Element = char;
  TypedTransport(Peer peer, MPI_Datatype type) : peer_(peer), type_(type) {}

  void send(const char* data, int count) const {
    MPI_Send(data, count, type_, peer_.rank, message_tag, peer_.comm);
  }
  void receive(char* data, int count) const {
    MPI_Recv(data, count, type_, peer_.rank, message_tag, peer_.comm, MPI_STATUS_IGNORE);
  }
  void exchange(const char* out, char* in, int count) const {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(out, count, type_, peer_.rank, message_tag, peer_.comm, &request);
    receive(in, count);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

 protected:
  [[nodiscard]] MPI_Datatype& type() { return type_; }

 private:
  Peer peer_;
  MPI_Datatype type_;
};

/// Variant 1: MPI_BYTE.
class MpiTransport : public TypedTransport {
 public:
  static constexpr std::string_view name = "mpi";
  explicit MpiTransport(Peer peer) : TypedTransport(peer, MPI_BYTE) {}
};

/// Variant 3: a derived type that holds one MPI_BYTE. A struct, as Boost.MPI makes for Char.
class MpiDatatypeTransport : public TypedTransport {
 public:
  static constexpr std::string_view name = "mpi-datatype";
  explicit MpiDatatypeTransport(Peer peer) : TypedTransport(peer, one_byte()) {}
  MpiDatatypeTransport(const MpiDatatypeTransport&) = delete;
  MpiDatatypeTransport& operator=(const MpiDatatypeTransport&) = delete;
  ~MpiDatatypeTransport() { MPI_Type_free(&type()); }

 private:
  static MPI_Datatype one_byte() {
    const int length = 1;
    const MPI_Aint displacement = 0;
    MPI_Datatype member = MPI_BYTE;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(1, &length, &displacement, &member, &type);
    MPI_Type_commit(&type);
    return type;
  }
};

/// Variants 2, 4 and 5: Boost.MPI on arrays of `Item`.
template <class Item>
class BoostArrayTransport {
 public:
  using Element = Item;
  explicit BoostArrayTransport(Peer peer)
      : world_(peer.comm, boost::mpi::comm_attach), rank_(peer.rank) {}

  void send(const Item* data, int count) const { world_.send(rank_, message_tag, data, count); }
  void receive(Item* data, int count) const { world_.recv(rank_, message_tag, data, count); }
  void exchange(const Item* out, Item* in, int count) const {
    boost::mpi::request request = world_.isend(rank_, message_tag, out, count);
    receive(in, count);
    request.wait();
  }

 private:
  boost::mpi::communicator world_;
  int rank_;
};

class BoostTransport : public BoostArrayTransport<char> {
 public:
  static constexpr std::string_view name = "boost";
  using BoostArrayTransport::BoostArrayTransport;
};

class BoostDatatypeTransport : public BoostArrayTransport<Char<true>> {
 public:
  static constexpr std::string_view name = "boost-datatype";
  using BoostArrayTransport::BoostArrayTransport;
};

class BoostSerializedTransport : public BoostArrayTransport<Char<false>> {
 public:
  static constexpr std::string_view name = "boost-serialized";
  using BoostArrayTransport::BoostArrayTransport;
};

}  // namespace roundtrip::netpipe

template <>
struct boost::mpi::is_mpi_datatype<roundtrip::netpipe::Char<true>> : boost::mpl::true_ {};
