#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace roundtrip::ddtbench {

/// Memory for `size` values, aligned to a cache line. It is not initialised, because the
/// largest face uses little of its 273 MB array.
template <class Value>
class Array {
 public:
  /// Throws std::bad_alloc.
  explicit Array(std::size_t size) : memory_(allocate(size * sizeof(Value))) {}

  [[nodiscard]] Value* data() const { return memory_.get(); }
  Value& operator[](std::size_t i) const { return memory_.get()[i]; }

 private:
  struct Free {
    void operator()(Value* memory) const { std::free(memory); }
  };

  static Value* allocate(std::size_t bytes) {
    constexpr std::size_t alignment = 64;
    void* memory = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<Value*>(memory);
  }

  std::unique_ptr<Value, Free> memory_;
};

}  // namespace roundtrip::ddtbench
