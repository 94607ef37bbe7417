// Hooks of the functions that get memory from the system, and give it back. Each passes its arguments on unchanged.
// Before that, a thread that has not yet heard which memory is next sets its policy: one comparison, which is false
// except for a few times in a thread's life. Pages that the thread then makes in the memory it gets come from there.
// With remote memory (remote.h) one more comparison in each hook finds large allocations, and pointers into them.
//
// Invariants
//   1. Each hook calls the next library in the search order, so that a program keeps its own allocator.
//   2. A thread that has heard of the newest policy has also found the next functions: a small block needs no other
//      lookup.
#include "preload/remote.h"
#include "preload/watcher.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstring>

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
  void (*free)(void*);
  std::size_t (*malloc_usable_size)(void*);
  int (*munmap)(void*, std::size_t);
  int (*mprotect)(void*, std::size_t, int);
  int (*madvise)(void*, std::size_t, int);
  void* (*mremap)(void*, std::size_t, std::size_t, int, ...);
  int (*brk)(void*);
};
constinit next_functions next{};

template <class Function>
void find(Function& to, const char* name) noexcept {
  to = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

__attribute__((noinline, cold)) void hear() noexcept {
  const int before = errno;
  if (next.brk == nullptr) {  // several threads may do this at once: they find the same
    find(next.malloc, "malloc");
    find(next.calloc, "calloc");
    find(next.realloc, "realloc");
    find(next.memalign, "memalign");
    find(next.aligned_alloc, "aligned_alloc");
    find(next.posix_memalign, "posix_memalign");
    find(next.mmap, "mmap");
    find(next.sbrk, "sbrk");
    find(next.free, "free");
    find(next.malloc_usable_size, "malloc_usable_size");
    find(next.munmap, "munmap");
    find(next.mprotect, "mprotect");
    find(next.madvise, "madvise");
    find(next.mremap, "mremap");
    find(next.brk, "brk");
  }
  heard_of = the_watcher.tell_thread();
  errno = before;
}

inline void keep_up() noexcept {
  if (__builtin_expect(heard_of != the_watcher.news(), 0)) hear();
}

constexpr std::size_t usual_alignment = 16;
constexpr std::size_t page_size = 4096;
constexpr int both = PROT_READ | PROT_WRITE;

// Returns true if the block is remote; `made` is null, with ENOMEM, if the server has no room for it.
bool is_remote_block(std::size_t bytes, std::size_t alignment, void*& made) noexcept {
  if (__builtin_expect(!the_remote_memory.takes(bytes), 1)) return false;
  if ((alignment & (alignment - 1)) != 0) return false;  // left to the next function
  const int before = errno;
  if (!the_remote_memory.allocate(bytes, alignment, remote_memory::kind::block, both, made)) return false;
  errno = made == nullptr ? ENOMEM : before;
  return true;
}

// Returns true for a plain private anonymous mapping, whose pages may be anywhere. False for reserved addresses,
// stacks, huge pages, locked ones.
bool is_remote_mapping(const void* address, int access, int flags) noexcept {
  constexpr int others = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_STACK | MAP_GROWSDOWN | MAP_HUGETLB | MAP_NORESERVE |
                         MAP_LOCKED | MAP_32BIT;
  return (flags & MAP_TYPE) == MAP_PRIVATE && (flags & MAP_ANONYMOUS) != 0 && (flags & others) == 0 && access == both &&
         reinterpret_cast<std::uintptr_t>(address) % page_size == 0;
}

void* map_next(void* address, std::size_t bytes, int access, int flags, int file, off_t offset) noexcept {
  if (the_remote_memory.takes(bytes) && is_remote_mapping(address, access, flags)) {
    void* made = nullptr;
    const int before = errno;
    if (the_remote_memory.allocate(bytes, page_size, remote_memory::kind::mapping, access, made)) {
      errno = made == nullptr ? ENOMEM : before;
      return made == nullptr ? MAP_FAILED : made;
    }
  }
  void* const made = next.mmap(address, bytes, access, flags, file, offset);
  if ((flags & MAP_FIXED) != 0 && made != MAP_FAILED && the_remote_memory.overlaps(made, bytes))
    the_remote_memory.forget(made, bytes);
  return made;
}

// Reallocates a block that is, or becomes, remote. The bytes are copied by this thread.
void* reallocate(void* block, std::size_t bytes) noexcept {
  const bool is_remote = the_remote_memory.has(block);
  const std::size_t had = is_remote ? the_remote_memory.usable_bytes(block) : next.malloc_usable_size(block);
  if (is_remote && bytes <= had && bytes >= had / 2) return block;
  void* made = nullptr;
  if (!is_remote_block(bytes, usual_alignment, made))
    made = is_remote ? next.malloc(bytes) : next.realloc(block, bytes);
  else if (made != nullptr)
    std::memcpy(made, block, had < bytes ? had : bytes);
  else
    return nullptr;
  if (made == nullptr) return made;
  if (is_remote) {
    if (!the_remote_memory.has(made)) std::memcpy(made, block, had < bytes ? had : bytes);
    the_remote_memory.release(block);
  } else if (the_remote_memory.has(made)) {
    next.free(block);
  }
  return made;
}

// Does what madvise does on private anonymous memory, if a shared file would behave differently.
int advise(void* begin, std::size_t bytes, int advice) noexcept {
  if (reinterpret_cast<std::uintptr_t>(begin) % page_size != 0) return next.madvise(begin, bytes, advice);
  switch (advice) {
    case MADV_DONTNEED:
    case MADV_FREE:
      if (the_remote_memory.make_blank(begin, bytes)) return 0;
      errno = ENOMEM;
      return -1;
    // Hints that have no effect here; what a child gets of the range is decided already.
    case MADV_DONTFORK:
    case MADV_DOFORK:
    case MADV_MERGEABLE:
    case MADV_UNMERGEABLE:
    case MADV_HUGEPAGE:
    case MADV_NOHUGEPAGE:
    case MADV_COLD:
    case MADV_PAGEOUT: return 0;
    case MADV_REMOVE: errno = EINVAL; return -1;
    default: return next.madvise(begin, bytes, advice);
  }
}

void* remap(void* old, std::size_t had, std::size_t bytes, int flags, void* to) noexcept {
  const auto whole = [](std::size_t some) { return (some + page_size - 1) / page_size * page_size; };
  had = whole(had);
  bytes = whole(bytes);
  const bool is_fixed = (flags & MREMAP_FIXED) != 0;
  if (bytes == 0 || had == 0 || (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)) != 0) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  if (!is_fixed && bytes <= had) {
    if (bytes < had) the_remote_memory.unmap(static_cast<char*>(old) + bytes, had - bytes);
    return old;
  }
  if ((flags & MREMAP_MAYMOVE) == 0) {
    errno = is_fixed ? EINVAL : ENOMEM;
    return MAP_FAILED;
  }
  void* const made = map_next(to, bytes, both, MAP_PRIVATE | MAP_ANONYMOUS | (is_fixed ? MAP_FIXED : 0), -1, 0);
  if (made == MAP_FAILED) return made;
  std::memcpy(made, old, had < bytes ? had : bytes);
  the_remote_memory.unmap(old, had);
  return made;
}

}  // namespace
}  // namespace situ::preload

extern "C" {

using situ::preload::is_remote_block;
using situ::preload::keep_up;
using situ::preload::next;
using situ::preload::the_remote_memory;

SITU_VISIBLE void* malloc(std::size_t bytes) noexcept {
  keep_up();
  void* made = nullptr;
  return is_remote_block(bytes, situ::preload::usual_alignment, made) ? made : next.malloc(bytes);
}
SITU_VISIBLE void* calloc(std::size_t count, std::size_t bytes) noexcept {
  keep_up();
  void* made = nullptr;
  std::size_t all = 0;
  if (!__builtin_mul_overflow(count, bytes, &all) && is_remote_block(all, situ::preload::usual_alignment, made))
    return made;  // new pages are zero
  return next.calloc(count, bytes);
}
SITU_VISIBLE void* realloc(void* block, std::size_t bytes) noexcept {
  keep_up();
  if (block != nullptr && bytes != 0 && (the_remote_memory.has(block) || the_remote_memory.takes(bytes)))
    return situ::preload::reallocate(block, bytes);
  void* made = nullptr;
  if (block == nullptr && is_remote_block(bytes, situ::preload::usual_alignment, made)) return made;
  if (the_remote_memory.has(block)) {
    the_remote_memory.release(block);
    return nullptr;
  }
  return next.realloc(block, bytes);
}
SITU_VISIBLE void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  keep_up();
  void* made = nullptr;
  return is_remote_block(bytes, alignment, made) ? made : next.memalign(alignment, bytes);
}
SITU_VISIBLE void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  keep_up();
  void* made = nullptr;
  return is_remote_block(bytes, alignment, made) ? made : next.aligned_alloc(alignment, bytes);
}
SITU_VISIBLE int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  keep_up();
  void* made = nullptr;
  if (alignment % sizeof(void*) == 0 && alignment != 0 && is_remote_block(bytes, alignment, made)) {
    if (made == nullptr) return ENOMEM;
    *block = made;
    return 0;
  }
  return next.posix_memalign(block, alignment, bytes);
}
SITU_VISIBLE void free(void* block) noexcept {
  keep_up();
  if (__builtin_expect(the_remote_memory.has(block), 0)) {
    const int before = errno;
    the_remote_memory.release(block);
    errno = before;
    return;
  }
  next.free(block);
}
SITU_VISIBLE std::size_t malloc_usable_size(void* block) noexcept {
  keep_up();
  return the_remote_memory.has(block) ? the_remote_memory.usable_bytes(block) : next.malloc_usable_size(block);
}
SITU_VISIBLE void* mmap(void* address, std::size_t bytes, int access, int flags, int file, off_t offset) noexcept {
  keep_up();
  return situ::preload::map_next(address, bytes, access, flags, file, offset);
}
SITU_VISIBLE void* mmap64(void* address, std::size_t bytes, int access, int flags, int file, off_t offset) noexcept {
  keep_up();
  return situ::preload::map_next(address, bytes, access, flags, file, offset);
}
SITU_VISIBLE int munmap(void* begin, std::size_t bytes) noexcept {
  keep_up();
  if (__builtin_expect(!the_remote_memory.has(begin), 1) || reinterpret_cast<std::uintptr_t>(begin) % 4096 != 0)
    return next.munmap(begin, bytes);
  the_remote_memory.unmap(begin, bytes);
  return 0;
}
SITU_VISIBLE int mprotect(void* begin, std::size_t bytes, int access) noexcept {
  keep_up();
  const int status = next.mprotect(begin, bytes, access);
  if (status == 0 && the_remote_memory.has(begin)) the_remote_memory.note_access(begin, bytes, access);
  return status;
}
SITU_VISIBLE int madvise(void* begin, std::size_t bytes, int advice) noexcept {
  keep_up();
  return the_remote_memory.has(begin) ? situ::preload::advise(begin, bytes, advice)
                                      : next.madvise(begin, bytes, advice);
}
SITU_VISIBLE void* mremap(void* old, std::size_t had, std::size_t bytes, int flags, ...) noexcept {
  keep_up();
  std::va_list more;
  va_start(more, flags);
  void* const to = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  return the_remote_memory.has(old) ? situ::preload::remap(old, had, bytes, flags, to)
                                    : next.mremap(old, had, bytes, flags, to);
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
