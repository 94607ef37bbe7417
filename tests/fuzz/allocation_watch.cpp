#include "fuzz/allocation_watch.h"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace situ::test {
std::atomic<std::size_t> largest_allocation{0};
std::atomic<std::size_t> live_allocated_bytes{0};
std::atomic<std::size_t> peak_allocated_bytes{0};

namespace {
void raise_to(std::atomic<std::size_t>& most, std::size_t bytes) noexcept {
  if (bytes > most.load(std::memory_order_relaxed)) most.store(bytes, std::memory_order_relaxed);
}
void free_block(void* block) noexcept {
  if (block != nullptr) live_allocated_bytes.fetch_sub(::malloc_usable_size(block), std::memory_order_relaxed);
  std::free(block);
}
}  // namespace
}  // namespace situ::test

void* operator new(std::size_t bytes) {
  using namespace situ::test;
  raise_to(largest_allocation, bytes);
  if (void* const block = std::malloc(bytes == 0 ? 1 : bytes)) {
    const std::size_t usable = ::malloc_usable_size(block);
    raise_to(peak_allocated_bytes, live_allocated_bytes.fetch_add(usable, std::memory_order_relaxed) + usable);
    return block;
  }
  throw std::bad_alloc{};
}
void operator delete(void* block) noexcept { situ::test::free_block(block); }
void operator delete(void* block, std::size_t) noexcept { situ::test::free_block(block); }
