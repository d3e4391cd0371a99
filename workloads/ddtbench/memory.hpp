#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "ddtbench/method.hpp"

namespace roundtrip::ddtbench {

/// The memory of a case at one end, which all arms of the case work in.
class Memory {
 public:
  /// `bytes`: size of the app's message. `shares`: some arms' methods use the same buffers.
  /// `evicted_bytes`: size of the memory that is walked through to evict all else from the caches.
  /// `seed`: seed of the order of index lists; each rank adds its number to it.
  Memory(MicroApp& app, const Ends& ends, std::size_t bytes, bool shares, std::size_t evicted_bytes,
         unsigned seed);

  [[nodiscard]] const Ends& ends() const { return ends_; }
  [[nodiscard]] bool collective() const { return collective_; }
  [[nodiscard]] MPI_Datatype element() const { return app_.element(); }
  /// Where the app's data are.
  [[nodiscard]] const Transfer& data() const { return data_; }
  /// The buffers that methods share; null if no method does.
  [[nodiscard]] Buffers* shared() { return shared_ ? &*shared_ : nullptr; }

  /// Puts index lists in a new order, for a batch.
  void shuffle();

  /// The seed of the next batch. It is the same on all ends if they call this equally often. The
  /// messages of two batches differ in every word.
  unsigned next_seed();

  /// Collective over the ends: brings memory into the same state for whatever method comes next,
  /// and out of the caches if `evict`. Afterwards both ends are about to start.
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
