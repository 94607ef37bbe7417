// malloc and mmap at addresses that are the same in each run. Each tile has memory of its own, and so do the executor
// and the program outside of modelled time (before main). The block of an allocation depends only on earlier
// allocations and frees, in time order.
//
//   header (16 bytes): bytes of the block | tile << 8 | class        block, aligned to 16
//   a block with a larger alignment has a second header before it, which points to the first
//
// Each doubling has four classes, each with a list of free blocks. The code here is not instrumented: an allocation
// costs `call_cycles` and a write of the header, a free costs `call_cycles` and a read of the header. The C library
// allocates under locks of its own (printf, setenv, atexit), so no other thread gets a turn in here: a thread that
// waited for such a lock would stop all threads.
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "model/execution/engine.h"
#include "model/execution/host_calls.h"
#include "model/parts/named_machine.h"

namespace situ::model {
namespace {

constexpr std::uint64_t call_cycles = 60;              // assumed: a hit in a thread's cache of a usual allocator
constexpr std::uint32_t tile_of_program = most_tiles;  // the program outside of modelled time
constexpr std::uint32_t tile_of_executor = most_tiles + 1;
constexpr std::size_t arena_bytes = std::size_t{1} << 36;
constexpr std::uint32_t classes = 160;
constexpr std::uint64_t aligned_class = 255;
constexpr std::size_t kept_bytes = std::size_t{1} << 20;     // larger blocks return their pages when freed
constexpr std::size_t passed_bytes = std::size_t{64} << 30;  // bytes that each try skips past a mapping in the way
constexpr int most_mappings_ahead = 64;

struct header {
  std::uint64_t bytes;  // size of the block; for a larger alignment the first header's address
  std::uint64_t tag;    // tile << 8 | class
};
static_assert(sizeof(header) == 16);

struct arena {
  char* next = nullptr;
  char* end = nullptr;
  void* free[classes] = {};
};

constinit arena arenas[most_tiles + 2];

// Returns the class of a size: 16 bytes a step up to 128, then four steps a doubling.
[[nodiscard]] std::uint32_t class_of(std::size_t bytes) noexcept {
  if (bytes <= 128) return static_cast<std::uint32_t>((std::max<std::size_t>(bytes, 16) - 1) / 16);
  const auto doubling = static_cast<std::uint32_t>(std::bit_width(bytes - 1)) - 8;  // 129..256: 0
  const std::size_t step = std::size_t{32} << doubling;
  return 8 + doubling * 4 + static_cast<std::uint32_t>((bytes - 1) / step - 4);
}
[[nodiscard]] std::size_t bytes_of(std::uint32_t which) noexcept {
  if (which < 8) return 16 * (which + 1);
  return (std::size_t{32} << (which - 8) / 4) * (5 + (which - 8) % 4);
}

[[nodiscard]] std::uint32_t tile_here() noexcept {
  if (running != &nobody) return running->tile;
  return executor_allocates ? tile_of_executor : tile_of_program;
}

header& header_of(void* block) noexcept { return static_cast<header*>(block)[-1]; }

void* carve(arena& from, std::size_t bytes) noexcept {
  if (from.next == nullptr) {
    from.next = static_cast<char*>(fixed_pages(arena_bytes, false));
    from.end = from.next + arena_bytes;
  }
  if (bytes > static_cast<std::size_t>(from.end - from.next)) return nullptr;
  char* const at = from.next;
  from.next += bytes;
  return at;
}

void* take(std::size_t bytes) noexcept {
  if (bytes > arena_bytes / 2) return nullptr;
  const std::uint32_t tile = tile_here();
  const std::uint32_t which = class_of(bytes);
  arena& from = arenas[tile];
  void* block = from.free[which];
  if (block != nullptr) {
    std::memcpy(&from.free[which], block, sizeof(void*));
  } else {
    void* const at = carve(from, sizeof(header) + bytes_of(which));
    if (at == nullptr) return nullptr;
    block = static_cast<char*>(at) + sizeof(header);
  }
  header_of(block) = {bytes_of(which), std::uint64_t{tile} << 8 | which};
  return block;
}

void give_back(void* block) noexcept {
  if ((header_of(block).tag & 255) == aligned_class) block = reinterpret_cast<void*>(header_of(block).bytes);
  const header& head = header_of(block);
  if (head.bytes >= kept_bytes) {
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(block) + 8 + 4095) & ~std::uintptr_t{4095};
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(block) + head.bytes) & ~std::uintptr_t{4095};
    host_call(SYS_madvise, static_cast<long>(begin), static_cast<long>(end - begin), MADV_DONTNEED);
  }
  void*& list = arenas[head.tag >> 8].free[head.tag & 255];
  std::memcpy(block, &list, sizeof(void*));
  list = block;
}

std::size_t room_of(void* block) noexcept {
  const header& head = header_of(block);
  if ((head.tag & 255) != aligned_class) return head.bytes;
  auto* const first = reinterpret_cast<char*>(head.bytes);
  return header_of(first).bytes - static_cast<std::size_t>(static_cast<char*>(block) - first);
}

void charge(const void* block, access_kind kind) {
  if (running == &nobody) return;
  running->clock += call_cycles * running->period_ps;
  the_engine->hold_others();
  the_engine->access(reinterpret_cast<std::uintptr_t>(block) - sizeof(header), sizeof(header), kind);
  the_engine->release_others();
}

void* allocate(std::size_t bytes) noexcept {
  void* const block = take(bytes);
  if (block == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  charge(block, access_kind::write);
  return block;
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  if (!std::has_single_bit(alignment)) return errno = EINVAL, nullptr;
  if (alignment <= 16) return allocate(bytes);
  if (bytes > arena_bytes || alignment > arena_bytes) return errno = ENOMEM, nullptr;
  auto* const first = static_cast<char*>(allocate(bytes + alignment));
  if (first == nullptr) return nullptr;
  const std::uintptr_t at = (reinterpret_cast<std::uintptr_t>(first) + alignment) & ~(alignment - 1);
  void* const block = reinterpret_cast<void*>(at);
  header_of(block) = {reinterpret_cast<std::uint64_t>(first), aligned_class};
  return block;
}

}  // namespace
}  // namespace situ::model

using namespace situ::model;

extern "C" {
void* malloc(std::size_t bytes) noexcept { return allocate(bytes); }

void free(void* block) noexcept {
  if (block == nullptr) return;
  charge(block, access_kind::read);
  give_back(block);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  void* const block = __builtin_mul_overflow(count, bytes, &all) ? nullptr : allocate(all);
  if (block != nullptr) std::memset(block, 0, all);
  return block;
}

void* realloc(void* before, std::size_t bytes) noexcept {
  if (before == nullptr) return allocate(bytes);
  if (bytes != 0 && bytes <= room_of(before) && bytes * 2 >= room_of(before)) return before;
  void* const block = allocate(bytes);
  if (block == nullptr) return nullptr;
  std::memcpy(block, before, std::min(bytes, room_of(before)));
  free(before);
  return block;
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept { return allocate_aligned(alignment, bytes); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept { return allocate_aligned(alignment, bytes); }
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  if (!std::has_single_bit(alignment) || alignment < sizeof(void*)) return EINVAL;
  void* const made = allocate_aligned(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}
void* valloc(std::size_t bytes) noexcept { return allocate_aligned(4096, bytes); }
void* pvalloc(std::size_t bytes) noexcept {
  return bytes > arena_bytes ? nullptr : allocate_aligned(4096, (bytes + 4095) & ~std::size_t{4095});
}
std::size_t malloc_usable_size(void* block) noexcept { return block == nullptr ? 0 : room_of(block); }

void* mmap(void* wanted, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  const bool anywhere = wanted == nullptr && bytes != 0 && running != &nobody;
  if (anywhere) flags |= MAP_FIXED_NOREPLACE;
  long got = -EEXIST;
  // A mapping at an address of the program's own choice (a segment) may be in the way: continues after it.
  for (int tries = 0; got == -EEXIST && tries < most_mappings_ahead; ++tries) {
    if (anywhere) wanted = reinterpret_cast<void*>(fixed_address(tries == 0 ? bytes : std::max(bytes, passed_bytes)));
    got =
        host_call(SYS_mmap, reinterpret_cast<long>(wanted), static_cast<long>(bytes), protection, flags, file, offset);
    if (!anywhere) break;
  }
  if (got >= 0 || got < -4095) return reinterpret_cast<void*>(got);
  errno = static_cast<int>(-got);
  return MAP_FAILED;
}
void* mmap64(void* wanted, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  return mmap(wanted, bytes, protection, flags, file, offset);
}
}
