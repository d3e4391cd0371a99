#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/pattern.hpp"
#include "ring/region/wait.hpp"
#include "ring/token.hpp"
#include "ring/topology.hpp"

/// Transports that copy. Each rank has one buffer: the token is received, changed and sent there.
namespace roundtrip::ring {

/// Send mode of MPI two-sided: standard, synchronous, or standard with a derived datatype.
enum class Sending { standard, synchronous, typed };

/// MPI two-sided. `synchronous` (MPI_Ssend) makes sender and receiver agree on every message by
/// control messages; `typed` describes the same bytes by a derived datatype.
template <Sending sending>
class TwoSidedPort {
 public:
  TwoSidedPort(const Topology& topology, std::size_t most, std::size_t /*heap*/)
      : topology_(topology), buffer_(most) {}
  TwoSidedPort(const TwoSidedPort&) = delete;
  TwoSidedPort& operator=(const TwoSidedPort&) = delete;
  ~TwoSidedPort() { forget_type(); }

  void begin(std::size_t bytes) {
    bytes_ = bytes;
    count_ = static_cast<int>(bytes);
    if constexpr (sending == Sending::typed) describe_bytes();
  }
  char* held() { return buffer_.data(); }
  void put() {
    if constexpr (sending == Sending::synchronous) {
      MPI_Ssend(buffer_.data(), count_, type_, topology_.next(), tag, topology_.comm());
    } else {
      MPI_Send(buffer_.data(), count_, type_, topology_.next(), tag, topology_.comm());
    }
  }
  char* get() {
    MPI_Recv(buffer_.data(), count_, type_, topology_.previous(), tag, topology_.comm(),
             MPI_STATUS_IGNORE);
    return buffer_.data();
  }
  void poison() { fill_poison(std::span(buffer_).first(bytes_), 0); }
  [[nodiscard]] std::optional<std::string> fault() const { return std::nullopt; }

 private:
  static constexpr int tag = 1;

  /// A struct of an integer and bytes without gaps, like an application's message.
  void describe_bytes() {
    forget_type();
    const std::array<int, 2> lengths{1, static_cast<int>(bytes_ - counter_bytes)};
    const std::array<MPI_Aint, 2> places{0, static_cast<MPI_Aint>(counter_bytes)};
    const std::array<MPI_Datatype, 2> types{MPI_UINT64_T, MPI_BYTE};
    MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &type_);
    MPI_Type_commit(&type_);
    count_ = 1;
  }
  void forget_type() {
    if (type_ != MPI_BYTE) MPI_Type_free(&type_);
  }

  const Topology& topology_;
  std::vector<char> buffer_;
  std::size_t bytes_ = 0;
  int count_ = 0;
  MPI_Datatype type_ = MPI_BYTE;
};

/// An MPI window in one passive-target epoch, freed by the destructor.
class Window {
 public:
  Window() = default;
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    MPI_Win_unlock_all(handle);
    MPI_Win_free(&handle);
  }
  MPI_Win handle = MPI_WIN_NULL;
  char* base = nullptr;
};

/// MPI one-sided: puts the bytes into the next rank's window, then notifies it by an empty message:
/// unlike polling one's own window, receiving makes progress in every MPI.
class RmaPort {
 public:
  RmaPort(const Topology& topology, std::size_t most, std::size_t /*heap*/) : topology_(topology) {
    // MPICH 4.0.2 puts data in the wrong place in windows whose size is not a multiple of this.
    constexpr std::size_t unit = 64;
    const std::size_t bytes = (most + unit - 1) / unit * unit;
    MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, topology.comm(), &window_.base,
                     &window_.handle);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_.handle);
  }

  void begin(std::size_t bytes) { bytes_ = bytes; }
  [[nodiscard]] char* held() const { return window_.base; }
  void put() {
    MPI_Win_sync(window_.handle);
    const int count = static_cast<int>(bytes_);
    MPI_Put(window_.base, count, MPI_BYTE, topology_.next(), 0, count, MPI_BYTE, window_.handle);
    MPI_Win_flush(topology_.next(), window_.handle);
    MPI_Send(nullptr, 0, MPI_BYTE, topology_.next(), tag, topology_.comm());
  }
  char* get() {
    MPI_Recv(nullptr, 0, MPI_BYTE, topology_.previous(), tag, topology_.comm(), MPI_STATUS_IGNORE);
    MPI_Win_sync(window_.handle);
    return window_.base;
  }
  void poison() const { fill_poison({window_.base, bytes_}, 0); }
  [[nodiscard]] std::optional<std::string> fault() const { return std::nullopt; }

 private:
  static constexpr int tag = 2;
  const Topology& topology_;
  Window window_;
  std::size_t bytes_ = 0;
};

/// One copy, no MPI call but MPI_Win_sync: the previous rank copies the bytes into this rank's
/// mailbox in an MPI-3 shared window. Waits like the region transport, so that only the copy
/// differs.
class SharedWindowPort {
 public:
  SharedWindowPort(const Topology& topology, std::size_t most, std::size_t /*heap*/)
      : topology_(topology) {
    MPI_Win_allocate_shared(static_cast<MPI_Aint>(line_pair + sizeof(Mailbox) + most), 1,
                            MPI_INFO_NULL, topology.node(), &window_.base, &window_.handle);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_.handle);
    mine_ = new (aligned(window_.base)) Mailbox;
    MPI_Aint size = 0;
    int unit = 0;
    char* next = nullptr;
    MPI_Win_shared_query(window_.handle, *topology.member(topology.next()), &size, &unit, &next);
    next_ = reinterpret_cast<Mailbox*>(aligned(next));
    MPI_Barrier(topology.node());
  }

  void begin(std::size_t bytes) { bytes_ = bytes; }
  char* held() { return mine_->data(); }
  void put() {
    std::memcpy(next_->data(), mine_->data(), bytes_);
    MPI_Win_sync(window_.handle);
    next_->flag.post(++sent_);
  }
  char* get() {
    mine_->flag.await(++received_, topology_.wait(), forever);
    MPI_Win_sync(window_.handle);
    return mine_->data();
  }
  void poison() { fill_poison({mine_->data(), bytes_}, 0); }
  [[nodiscard]] std::optional<std::string> fault() const { return std::nullopt; }

 private:
  struct alignas(line_pair) Mailbox {
    Flag flag;
    char* data() { return reinterpret_cast<char*>(this + 1); }
  };

  /// MPI does not promise alignment, but all ranks see the same pages, so all align alike.
  static char* aligned(char* base) {
    const auto address = reinterpret_cast<std::uintptr_t>(base);
    return base + (line_pair - address % line_pair) % line_pair;
  }

  const Topology& topology_;
  Window window_;
  Mailbox* mine_ = nullptr;
  Mailbox* next_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t sent_ = 0;
  std::uint32_t received_ = 0;
};

}  // namespace roundtrip::ring
