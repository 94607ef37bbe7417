// The functions that get memory from the system. Each passes on what it was asked, unchanged; before that, a thread
// that has not yet heard which memory is next is told so: one comparison, which is false but for a few times in a
// thread's life. Pages that the thread then makes in what it gets come from there.
//
// Invariants
//   1. Whoever comes next in the order of libraries is called, so that a program keeps its own allocator.
//   2. A thread that has heard of the newest policy has also found the next functions: nothing else is looked up on the
//      way of a small block.
#include "preload/watcher.h"

#include <dlfcn.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>

#define SITU_VISIBLE __attribute__((visibility("default")))

namespace situ::preload {
namespace {

__attribute__((tls_model("initial-exec"))) thread_local constinit std::uint32_t heard_of = 0;

struct next_functions {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  void* (*sbrk)(std::intptr_t);
  int (*brk)(void*);
};
constinit next_functions next{};

template <class Function>
void find(Function& to, const char* name) noexcept {
  to = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

__attribute__((noinline, cold)) void hear() noexcept {
  const int before = errno;
  if (next.brk == nullptr) {  // also by several threads at a time: they find the same
    find(next.malloc, "malloc");
    find(next.calloc, "calloc");
    find(next.realloc, "realloc");
    find(next.memalign, "memalign");
    find(next.aligned_alloc, "aligned_alloc");
    find(next.posix_memalign, "posix_memalign");
    find(next.mmap, "mmap");
    find(next.sbrk, "sbrk");
    find(next.brk, "brk");
  }
  heard_of = the_watcher.tell_thread();
  errno = before;
}

inline void keep_up() noexcept {
  if (__builtin_expect(heard_of != the_watcher.news(), 0)) hear();
}

}  // namespace
}  // namespace situ::preload

extern "C" {

using situ::preload::keep_up;
using situ::preload::next;

SITU_VISIBLE void* malloc(std::size_t bytes) noexcept {
  keep_up();
  return next.malloc(bytes);
}
SITU_VISIBLE void* calloc(std::size_t count, std::size_t bytes) noexcept {
  keep_up();
  return next.calloc(count, bytes);
}
SITU_VISIBLE void* realloc(void* block, std::size_t bytes) noexcept {
  keep_up();
  return next.realloc(block, bytes);
}
SITU_VISIBLE void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  keep_up();
  return next.memalign(alignment, bytes);
}
SITU_VISIBLE void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  keep_up();
  return next.aligned_alloc(alignment, bytes);
}
SITU_VISIBLE int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  keep_up();
  return next.posix_memalign(block, alignment, bytes);
}
SITU_VISIBLE void* mmap(void* address, std::size_t bytes, int access, int flags, int file, off_t offset) noexcept {
  keep_up();
  return next.mmap(address, bytes, access, flags, file, offset);
}
SITU_VISIBLE void* mmap64(void* address, std::size_t bytes, int access, int flags, int file, off_t offset) noexcept {
  keep_up();
  return next.mmap(address, bytes, access, flags, file, offset);
}
SITU_VISIBLE void* sbrk(std::intptr_t bytes) noexcept {
  keep_up();
  return next.sbrk(bytes);
}
SITU_VISIBLE int brk(void* end) noexcept {
  keep_up();
  return next.brk(end);
}

}  // extern "C"
