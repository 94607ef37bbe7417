// malloc and mmap at addresses that are the same in each run, and madvise. Each tile has memory of its own, and so do
// the executor and the program outside of modelled time (before main). The block of an allocation depends only on
// earlier allocations and frees, in time order.
//
//   header (16 bytes): bytes of the block | tile << 8 | class        block, aligned to 16
//   a block with a larger alignment has a second header before it, which points to the first
//
// Each doubling has four classes, each with a list of free blocks. The code here is not instrumented: an allocation
// costs `call_cycles` and a write of the header, a free costs `call_cycles` and a read of the header. The pages of blocks
// take room in the machine's memories (parts/memory_rooms.h): those of small blocks for good, those of a block of
// `kept_bytes` or more until it is freed. If no memory has room, the allocation fails as natively. The C library
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
#include "model/execution/object_log.h"
#include "model/parts/named_machine.h"

namespace situ::model {
namespace {

// A hit in a thread's cache of a usual allocator: assumed for a core that waits for each read; measured for others (glibc
// 2.36 on an EPYC: 52 to 64 cycles for malloc and free together).
constexpr std::uint64_t call_cycles = 60;
constexpr std::uint64_t call_cycles_ahead = 30;
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
  std::uintptr_t with_room = 0;  // the pages of small blocks before this address have their room
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

constexpr std::uintptr_t page_after(std::uintptr_t address) noexcept {
  return (address + 4095) & ~std::uintptr_t{4095};
}

// Takes room for the whole pages [begin, end). A tile's arena is used only while there is a machine.
bool take_room(std::uint32_t tile, std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (tile >= most_tiles || begin >= end) return true;
  const outside_time scope;
  return the_engine->machine().take_room(tile, begin, end);
}

// Returns a large block's room within its first `bytes` bytes, without the page of its header.
struct page_range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};
page_range pages_of(const void* block, std::size_t bytes) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  return {page_after(at + 8), page_after(at + bytes)};
}

// Returns the bytes of the block that its header's page and those of pages_of() hold.
std::size_t bytes_with_room(const void* block, std::size_t bytes, std::uint32_t which) noexcept {
  return std::min(bytes_of(which), page_after(reinterpret_cast<std::uintptr_t>(block) + bytes) -
                                       reinterpret_cast<std::uintptr_t>(block));
}

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

void give_room_back(std::uintptr_t begin, std::uintptr_t end) noexcept {
  if (the_engine == nullptr) return;
  const outside_time scope;
  the_engine->machine().give_room_back(begin, end);
}

// Takes the room of a new block: up to its own end if it is small, else only of the requested bytes.
bool take_room_of_new(arena& from, std::uint32_t tile, const char* block, std::size_t bytes, std::uint32_t which) {
  const bool is_large = bytes_of(which) >= kept_bytes;
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t end = page_after(at + (is_large ? bytes : bytes_of(which)));
  const std::uintptr_t begin = std::max(from.with_room, (at - sizeof(header)) & ~std::uintptr_t{4095});
  if (!take_room(tile, begin, end)) return false;
  from.with_room = is_large ? (at + bytes_of(which)) & ~std::uintptr_t{4095} : std::max(from.with_room, end);
  return true;
}

void* take_new(arena& from, std::uint32_t tile, std::size_t bytes, std::uint32_t which) noexcept {
  auto* const at = static_cast<char*>(carve(from, sizeof(header) + bytes_of(which)));
  if (at == nullptr) return nullptr;
  char* const block = at + sizeof(header);
  if (take_room_of_new(from, tile, block, bytes, which)) return block;
  from.next = at;
  return nullptr;
}

void* take(std::size_t bytes) noexcept {
  if (bytes > arena_bytes / 2) return nullptr;
  const std::uint32_t tile = tile_here();
  const std::uint32_t which = class_of(bytes);
  arena& from = arenas[tile];
  void* block = from.free[which];
  const bool is_large = bytes_of(which) >= kept_bytes;
  if (block == nullptr) {
    block = take_new(from, tile, bytes, which);
    if (block == nullptr) return nullptr;
  } else {
    const page_range pages = pages_of(block, bytes);
    if (is_large && !take_room(tile, pages.begin, pages.end)) return nullptr;
    std::memcpy(&from.free[which], block, sizeof(void*));
  }
  header_of(block) = {is_large ? bytes_with_room(block, bytes, which) : bytes_of(which),
                      std::uint64_t{tile} << 8 | which};
  return block;
}

// Lets a large block grow within its class. Returns false if the machine's memories have no room for it.
bool grow(void* block, std::size_t bytes) noexcept {
  header& head = header_of(block);
  if (bytes <= head.bytes) return true;
  if (!take_room(static_cast<std::uint32_t>(head.tag >> 8), pages_of(block, head.bytes).end,
                 pages_of(block, bytes).end))
    return false;
  head.bytes = bytes_with_room(block, bytes, static_cast<std::uint32_t>(head.tag & 255));
  return true;
}

void give_back(void* block) noexcept {
  if ((header_of(block).tag & 255) == aligned_class) block = reinterpret_cast<void*>(header_of(block).bytes);
  const header& head = header_of(block);
  if (bytes_of(head.tag & 255) >= kept_bytes) {
    const page_range pages = pages_of(block, head.bytes);
    const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(block) + head.bytes) & ~std::uintptr_t{4095};
    host_call(SYS_madvise, static_cast<long>(pages.begin), static_cast<long>(end - pages.begin), MADV_DONTNEED);
    if (head.tag >> 8 < most_tiles) give_room_back(pages.begin, end);
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

// Returns the bytes to which the block can grow.
std::size_t most_room_of(void* block) noexcept {
  const std::uint64_t which = header_of(block).tag & 255;
  return which == aligned_class ? room_of(block) : bytes_of(static_cast<std::uint32_t>(which));
}

void charge(const void* block, access_kind kind) {
  if (running == &nobody) return;
  running->clock += (running->goes_ahead ? call_cycles_ahead : call_cycles) * running->period_ps;
  the_engine->hold_others();
  the_engine->access(reinterpret_cast<std::uintptr_t>(block) - sizeof(header), sizeof(header), kind);
  the_engine->release_others();
}

// Tell the log of objects, if there is one.
void note_block(const void* first, const void* block, std::size_t bytes, const void* caller) noexcept {
  if (the_objects == nullptr || running == &nobody) return;
  const outside_time scope;
  the_objects->add_block(static_cast<const char*>(first) - sizeof(header), block, bytes, caller);
}
void note_end(const void* block) noexcept {
  if (the_objects == nullptr || running == &nobody) return;
  const outside_time scope;
  the_objects->remove(block);
}

// `caller`: the return address of the function that the program has called.
void* allocate(std::size_t bytes, const void* caller) noexcept {
  void* const block = take(bytes);
  if (block == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  note_block(block, block, bytes, caller);
  charge(block, access_kind::write);
  return block;
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes, const void* caller) noexcept {
  if (!std::has_single_bit(alignment)) return errno = EINVAL, nullptr;
  if (alignment <= 16) return allocate(bytes, caller);
  if (bytes > arena_bytes || alignment > arena_bytes) return errno = ENOMEM, nullptr;
  auto* const first = static_cast<char*>(take(bytes + alignment));
  if (first == nullptr) return errno = ENOMEM, nullptr;
  const std::uintptr_t at = (reinterpret_cast<std::uintptr_t>(first) + alignment) & ~(alignment - 1);
  note_block(first, reinterpret_cast<const void*>(at), bytes, caller);
  charge(first, access_kind::write);
  void* const block = reinterpret_cast<void*>(at);
  header_of(block) = {reinterpret_cast<std::uint64_t>(first), aligned_class};
  return block;
}

}  // namespace
}  // namespace situ::model

using namespace situ::model;

#define CALLER __builtin_return_address(0)

extern "C" {
void* malloc(std::size_t bytes) noexcept { return allocate(bytes, CALLER); }

void free(void* block) noexcept {
  if (block == nullptr) return;
  charge(block, access_kind::read);
  note_end(block);
  give_back(block);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  void* const block = __builtin_mul_overflow(count, bytes, &all) ? nullptr : allocate(all, CALLER);
  if (block != nullptr) std::memset(block, 0, all);
  return block;
}

void* realloc(void* before, std::size_t bytes) noexcept {
  if (before == nullptr) return allocate(bytes, CALLER);
  if (bytes != 0 && bytes <= most_room_of(before) && bytes * 2 >= most_room_of(before) && grow(before, bytes)) {
    if (the_objects != nullptr && running != &nobody) {
      const outside_time scope;
      the_objects->resize(before, bytes);
    }
    return before;
  }
  void* const block = allocate(bytes, CALLER);
  if (block == nullptr) return nullptr;
  std::memcpy(block, before, std::min(bytes, room_of(before)));
  free(before);
  return block;
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept { return allocate_aligned(alignment, bytes, CALLER); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes, CALLER);
}
int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  if (!std::has_single_bit(alignment) || alignment < sizeof(void*)) return EINVAL;
  void* const made = allocate_aligned(alignment, bytes, CALLER);
  if (made == nullptr) return ENOMEM;
  *block = made;
  return 0;
}
void* valloc(std::size_t bytes) noexcept { return allocate_aligned(4096, bytes, CALLER); }
void* pvalloc(std::size_t bytes) noexcept {
  return bytes > arena_bytes ? nullptr : allocate_aligned(4096, (bytes + 4095) & ~std::size_t{4095}, CALLER);
}
std::size_t malloc_usable_size(void* block) noexcept { return block == nullptr ? 0 : room_of(block); }

// Returns whether a mapping of memory is larger than the room of all memories, which Linux refuses, too. Smaller ones
// take their room page by page, when they are accessed.
static bool is_refused(std::size_t bytes, int protection, int flags) noexcept {
  if (running == &nobody || (flags & MAP_ANONYMOUS) == 0 || (flags & MAP_NORESERVE) != 0 || protection == PROT_NONE)
    return false;
  const std::uint32_t tile = running->tile;
  const outside_time scope;
  return !the_engine->machine().has_room(tile, bytes);
}

// Returns the shift of the pages that MAP_HUGETLB asks for; 0: the usual ones.
static std::uint32_t page_shift_of(int flags) noexcept {
  if ((flags & MAP_HUGETLB) == 0) return 0;
  const auto shift = static_cast<std::uint32_t>(flags) >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
  return shift == 0 ? 21 : shift;
}

static void set_page_size(std::uintptr_t begin, std::uintptr_t end, std::uint32_t shift) noexcept {
  if (the_engine == nullptr) return;
  const outside_time scope;
  the_engine->machine().set_page_size(begin, end, shift);
}

// Large pages are the machine's: the host's need not have any.
static void* map(void* wanted, std::size_t bytes, int protection, int flags, int file, off_t offset,
                 const void* caller) noexcept {
  const std::uint32_t shift = page_shift_of(flags);
  if (shift != 0 && shift != 21 && shift != 30) return errno = EINVAL, MAP_FAILED;
  const std::size_t beyond = shift == 0 ? 0 : (std::size_t{1} << shift) - 1;
  if (shift != 0) {
    flags &= static_cast<int>(~(unsigned{MAP_HUGETLB} | unsigned{MAP_HUGE_MASK} << MAP_HUGE_SHIFT));
    if (__builtin_add_overflow(bytes, beyond, &bytes)) return errno = ENOMEM, MAP_FAILED;
    bytes &= ~beyond;
  }
  if (is_refused(bytes, protection, flags)) return errno = ENOMEM, MAP_FAILED;
  const bool anywhere = wanted == nullptr && bytes != 0 && running != &nobody;
  if (anywhere) flags |= MAP_FIXED_NOREPLACE;
  long got = -EEXIST;
  // A mapping at an address of the program's own choice (a segment) may be in the way: continues after it.
  for (int tries = 0; got == -EEXIST && tries < most_mappings_ahead; ++tries) {
    if (anywhere) {
      const std::size_t passes = beyond + (tries == 0 ? bytes : std::max(bytes, passed_bytes));
      wanted = reinterpret_cast<void*>((fixed_address(passes) + beyond) & ~beyond);
    }
    got =
        host_call(SYS_mmap, reinterpret_cast<long>(wanted), static_cast<long>(bytes), protection, flags, file, offset);
    if (!anywhere) break;
  }
  if (got < 0 && got >= -4095) return errno = static_cast<int>(-got), MAP_FAILED;
  set_page_size(static_cast<std::uintptr_t>(got), static_cast<std::uintptr_t>(got) + bytes, shift);
  if (the_objects != nullptr && running != &nobody) {
    const outside_time scope;
    the_objects->add_mapping(reinterpret_cast<const void*>(got), bytes, caller);
  }
  return reinterpret_cast<void*>(got);
}
void* mmap(void* wanted, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  return map(wanted, bytes, protection, flags, file, offset, CALLER);
}
int munmap(void* at, std::size_t bytes) noexcept {
  const long failed = host_call(SYS_munmap, reinterpret_cast<long>(at), static_cast<long>(bytes));
  if (failed != 0) return errno = static_cast<int>(-failed), -1;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  give_room_back(begin, page_after(begin + bytes));
  set_page_size(begin, page_after(begin + bytes), 0);
  if (the_objects != nullptr && running != &nobody) {
    const outside_time scope;
    the_objects->remove_mappings(at, bytes);
  }
  return 0;
}
// Also a host without large pages takes the advice.
int madvise(void* at, std::size_t bytes, int advice) noexcept {
  const long failed = host_call(SYS_madvise, reinterpret_cast<long>(at), static_cast<long>(bytes), advice);
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const bool is_of_size = (advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE) && begin == page_after(begin);
  if (failed != 0 && !(is_of_size && failed == -EINVAL)) return errno = static_cast<int>(-failed), -1;
  if (is_of_size) set_page_size(begin, page_after(begin + bytes), advice == MADV_HUGEPAGE ? 21 : 0);
  return 0;
}
void* mmap64(void* wanted, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  return map(wanted, bytes, protection, flags, file, offset, CALLER);
}
}
