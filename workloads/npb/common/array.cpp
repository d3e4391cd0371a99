#include "npb/common/array.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace roundtrip::npb {

void* allocate_pages(std::size_t bytes) {
  constexpr std::size_t cache_line = 64;
  constexpr std::size_t large_page = std::size_t{2} << 20U;
  constexpr std::size_t worth_it = 4 * large_page;
  const std::size_t unit = bytes >= worth_it ? large_page : cache_line;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* const data = std::aligned_alloc(unit, rounded);
  if (data == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  // Only a hint: if the system does not follow it, ordinary pages are used.
  if (unit == large_page) madvise(data, rounded, MADV_HUGEPAGE);
#endif
  return data;
}

void free_pages(void* data) {
  std::free(data);
}

}  // namespace roundtrip::npb
