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
  /// `bytes`: of the app's message. `shares`: there are arms whose methods use the same buffers.
  /// `evicted_bytes`: what has to be walked through to evict all else from the caches. `seed`: of
  /// the order of index lists, another one on each rank.
  Memory(MicroApp& app, const Ends& ends, std::size_t bytes, bool shares, std::size_t evicted_bytes,
         unsigned seed);

  [[nodiscard]] const Ends& ends() const { return ends_; }
  [[nodiscard]] bool collective() const { return collective_; }
  [[nodiscard]] MPI_Datatype element() const { return app_.element(); }
  /// Where the app's data are.
  [[nodiscard]] const Transfer& data() const { return data_; }
  /// What methods share; null if none does.
  [[nodiscard]] Buffers* shared() { return shared_ ? &*shared_ : nullptr; }

  /// Puts index lists in a new order, for a batch.
  void shuffle();

  /// The same on all ends if they call it equally often; the messages of two batches differ in
  /// every word.
  unsigned next_seed();

  /// Collective over the ends: leaves memory alike for whatever method comes next, out of the
  /// caches if it is to `evict`. Both ends are then about to start.
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
