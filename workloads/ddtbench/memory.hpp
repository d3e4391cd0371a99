#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "ddtbench/method.hpp"

namespace roundtrip::ddtbench {

/// Memory of a case on one rank, shared by all arms of the case.
class Memory {
 public:
  /// `bytes`: size of the app's message. `shares`: whether some arms' methods share buffers.
  /// `evicted_bytes`: size of the memory that is written to evict all else from the caches.
  /// `seed`: of the order of index lists; each rank adds its number.
  Memory(MicroApp& app, const Ends& ends, std::size_t bytes, bool shares, std::size_t evicted_bytes,
         unsigned seed);

  [[nodiscard]] const Ends& ends() const { return ends_; }
  [[nodiscard]] bool collective() const { return collective_; }
  [[nodiscard]] MPI_Datatype element() const { return app_.element(); }
  /// Memory of the app's data.
  [[nodiscard]] const Transfer& data() const { return data_; }
  /// Buffers shared by methods; null without `shares`.
  [[nodiscard]] Buffers* shared() { return shared_ ? &*shared_ : nullptr; }

  /// Shuffles index lists, for a batch.
  void shuffle();

  /// Seed of the next batch, equal on all ends if they call this equally often. Messages of two
  /// batches differ in every word.
  unsigned next_seed();

  /// Collective over the ends: brings memory into the same state before each exchange, evicts it
  /// from the caches if `evict`, and synchronises the ends.
  void level(bool evict);

 private:
  [[nodiscard]] Transfer regions() const;
  void walk();

  MicroApp& app_;
  Ends ends_;
  bool collective_;
  std::size_t bytes_;
  std::optional<Buffers> shared_;
  std::vector<char> scratch_;
  std::mt19937 list_random_;
  Transfer data_;
  unsigned seed_ = 0;
};

}  // namespace roundtrip::ddtbench
