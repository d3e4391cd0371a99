#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>

#include "ring/region/space.hpp"

namespace roundtrip::ring {

using Kind = RegionError::Kind;

inline constexpr WaitPolicy patient{.spins = 200, .yields = 20};
inline constexpr std::size_t kib64 = 65536;

/// A comm space in the memory of this process, one member per thread.
class CommSpace {
 public:
  explicit CommSpace(Layout layout)
      : memory_(static_cast<std::byte*>(
                    std::aligned_alloc(line_pair, Space::bytes(layout) / line_pair * line_pair)),
                &std::free),
        space_(memory_.get(), layout) {
    space_.initialise();
  }
  Member member(int number) { return {space_, number, patient}; }
  std::size_t free_bytes(int number) { return space_.heap(number).free_bytes(patient); }
  Cell& cell(CellAddress address) { return space_.cell(address); }

 private:
  std::unique_ptr<std::byte, decltype(&std::free)> memory_;
  Space space_;
};

inline Kind kind_of(const std::function<void()>& misuse) {
  try {
    misuse();
  } catch (const RegionError& error) {
    return error.kind();
  }
  throw std::logic_error("nothing was thrown");
}

}  // namespace roundtrip::ring
