#include "fuzz/allocation_watch.h"

#include <cstdlib>
#include <new>

namespace situ::test {
std::atomic<std::size_t> largest_allocation{0};
}

void* operator new(std::size_t bytes) {
  std::atomic<std::size_t>& largest = situ::test::largest_allocation;
  if (bytes > largest.load(std::memory_order_relaxed)) largest.store(bytes, std::memory_order_relaxed);
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc{};
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
