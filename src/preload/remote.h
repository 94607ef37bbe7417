// Remote memory for the large allocations of a program that knows nothing of Situ, under `situ rmem run`.
//
//   situ rmem run    keeps the pages (src/rmem/program_memory.h), listens on a socket whose name SITU_RMEM_RUN has
//   this             maps parts of its memory file, gives it a userfaultfd, reports freed pages; has no thread
//
// All remote memory of a process is within one reserved range of addresses, page n of the file at base + n * 4096: so
// the check whether a pointer is remote is one comparison. Each request has a connection of its own. The program keeps
// only one descriptor of ours, close-on-exec and with a high number: because of it, touches wait rather than read
// zeros if the launcher is killed.
//
// Invariants
//   1. The whole range is mapped: addresses that are not allocated are reserved without access.
//   2. A page is given back after it has been unmapped, and is the process's after it has been mapped.
//   3. ranges_ is sorted, and changes under the lock; a thread that has the lock takes no signal.
//   4. A forked child has private memory where its parent had the file's. Its contents come from the launcher, page by
//      page.
#pragma once

#include "preload/system_calls.h"

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace situ::preload {

// "NAME#KEY#THRESHOLD#PAGES", all but the name hexadecimal: an abstract Unix socket, the key by which a process proves
// itself, the number of bytes from which on an allocation is remote, and the pages of the file.
inline constexpr const char* remote_variable = "SITU_RMEM_RUN";

enum class remote_request : std::uint32_t {
  enter,         // with a userfaultfd; base
  enter_forked,  // the same, of a child of `process`
  allocate,      // pages; answered with the file
  mapped,        // first, pages
  give_back,     // first, pages
  make_blank,    // first, pages
  freeze,        // before a fork
  thaw,          // and after it
};
struct remote_message {
  std::uint64_t key = 0;
  remote_request what = remote_request::enter;
  std::uint32_t process = 0;
  std::uint64_t base = 0;
  std::uint64_t first = 0;
  std::uint64_t pages = 0;
};
struct remote_answer {
  std::int32_t status = 0;  // -errno
  std::uint32_t process = 0;
  std::uint64_t first = 0;
};

class remote_memory {
 public:
  // Reads the environment variable.
  void begin() noexcept;
  [[nodiscard]] bool takes(std::size_t bytes) const noexcept { return bytes >= threshold_; }
  [[nodiscard]] bool has(const void* pointer) const noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer) - base_ < span_;
  }
  [[nodiscard]] bool overlaps(const void* pointer, std::size_t bytes) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
    return span_ != 0 && begin < base_ + span_ && begin + bytes > base_;
  }

  // Returns false if the allocation has to be local: `made` is then unchanged. Otherwise `made` is a block, or null if
  // the server has no room.
  enum class kind : std::uint8_t { block, mapping };
  [[nodiscard]] bool allocate(std::size_t bytes, std::size_t alignment, kind what, int access, void*& made) noexcept;
  // pre: a block that has been allocated.
  void release(void* block) noexcept;
  [[nodiscard]] std::size_t usable_bytes(void* block) noexcept;
  // pre for all these: whole pages.
  void unmap(void* begin, std::size_t bytes) noexcept;
  // Drops ranges over which the program has mapped something else.
  void forget(void* begin, std::size_t bytes) noexcept;
  void note_access(void* begin, std::size_t bytes, int access) noexcept;
  // Fills the pages with zeros. Returns false if they are unchanged: the launcher was not reached, and they are not
  // writable.
  [[nodiscard]] bool make_blank(void* begin, std::size_t bytes) noexcept;

  void before_fork() noexcept;
  void after_fork() noexcept;
  void begin_in_child() noexcept;

 private:
  struct range {
    std::uint64_t first;
    std::uint64_t pages;
    std::uint64_t block;  // the address that malloc returned; 0: the range is of mmap
    std::int32_t access;
    bool is_copy;  // a forked child's own memory
  };
  struct run {
    std::uint64_t first;
    std::uint64_t end;
  };
  class locked;

  [[nodiscard]] bool enter() noexcept;
  [[nodiscard]] long connect() const noexcept;
  [[nodiscard]] bool exchange(long socket, remote_message message, long sent, remote_answer& answer,
                              long* received) const noexcept;
  bool tell(remote_request what, std::uint64_t first, std::uint64_t pages) const noexcept;
  [[nodiscard]] run pages_of_block(const void* block) const noexcept;
  [[nodiscard]] std::size_t find(std::uint64_t page) const noexcept;
  bool insert(std::size_t at, const range& what) noexcept;
  void remove(std::size_t at) noexcept;
  bool split(std::uint64_t page) noexcept;
  void take_out(std::uint64_t first, std::uint64_t end, bool unmaps) noexcept;
  void stay_local(const char* why) noexcept;

  std::size_t threshold_ = ~std::size_t{0};
  std::uintptr_t base_ = 0;
  std::uintptr_t span_ = 0;  // bytes; 0 until the first allocation
  char name_[64]{};
  std::size_t name_length_ = 0;
  std::uint64_t key_ = 0;
  std::uint64_t arena_pages_ = 0;
  std::uint32_t process_ = 0;
  long kept_ = -1;  // the userfaultfd
  std::int32_t fork_pipe_[2] = {-1, -1};
  long fork_socket_ = -1;  // from freeze to thaw; -1: nothing is frozen, and the child gets no memory
  std::uint64_t mask_at_fork_ = 0;
  std::atomic<bool> is_locked_{false};
  static constexpr std::size_t most_ranges = 16384;
  std::size_t count_ = 0;
  range ranges_[most_ranges]{};
};

extern remote_memory the_remote_memory;  // of this process

}  // namespace situ::preload
