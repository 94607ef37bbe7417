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
void* take_block(std::size_t bytes) noexcept {
  raise_to(largest_allocation, bytes);
  void* const block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) return nullptr;
  const std::size_t usable = ::malloc_usable_size(block);
  raise_to(peak_allocated_bytes, live_allocated_bytes.fetch_add(usable, std::memory_order_relaxed) + usable);
  return block;
}
void* take_block_or_throw(std::size_t bytes) {
  if (void* const block = take_block(bytes)) return block;
  throw std::bad_alloc{};
}
void free_block(void* block) noexcept {
  if (block != nullptr) live_allocated_bytes.fetch_sub(::malloc_usable_size(block), std::memory_order_relaxed);
  std::free(block);
}
}  // namespace
}  // namespace situ::test

// All forms but the aligned ones: a sanitizer's own, for those left out, would find that they do not match.
using situ::test::free_block;
using situ::test::take_block;
using situ::test::take_block_or_throw;

void* operator new(std::size_t bytes) { return take_block_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return take_block_or_throw(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take_block(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return take_block(bytes); }
void operator delete(void* block) noexcept { free_block(block); }
void operator delete[](void* block) noexcept { free_block(block); }
void operator delete(void* block, std::size_t) noexcept { free_block(block); }
void operator delete[](void* block, std::size_t) noexcept { free_block(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { free_block(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { free_block(block); }
