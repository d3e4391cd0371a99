#pragma once

#include <cstddef>
#include <vector>

namespace roundtrip::npb {

/// Memory aligned to cache lines; from 8 MiB, in large pages if the system has them.
/// Throws std::bad_alloc.
void* allocate_pages(std::size_t bytes);
void free_pages(void* data);

/// Allocator of Array.
template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class U>
  explicit(false) LargePages(const LargePages<U>& /*other*/) {}

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_pages(count * sizeof(T))); }
  void deallocate(T* data, std::size_t /*count*/) { free_pages(data); }

  friend bool operator==(const LargePages& /*a*/, const LargePages& /*b*/) { return true; }
};

/// A vector for the large arrays of a benchmark.
template <class T>
using Array = std::vector<T, LargePages<T>>;

}  // namespace roundtrip::npb
