// The kernel's userfaultfd, as far as the pager needs it: touches of a mapping that are told of, and the answers.
// By Linux 5.19: missing and present pages of a shared memory file, and write protection of both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rmem/sockets.h"

namespace situ::rmem::detail {

// For tests: as if this kernel were older.
enum class kernel : std::uint8_t { this_one, before_6_8, before_6_4 };
inline std::atomic<kernel> pretended_kernel{kernel::this_one};

struct user_fault {
  std::uintptr_t address = 0;  // of the page
  bool is_write = false;       // the touch was one
  bool is_protected = false;   // by a page that is mapped: its first write
  bool is_present = false;     // the file has the page, the mapping has not
};

class user_faults {
 public:
  enum class told : std::uint8_t { by_descriptor, by_signal };  // SIGBUS in who touches, who waits for nobody then
  // Throws not_supported where the kernel lacks it or forbids it.
  explicit user_faults(told how = told::by_descriptor);
  // One that another process has made for its own memory, and given to this one. Throws not_supported.
  explicit user_faults(descriptor of_process);
  // Touches of these bytes, a mapping of a memory file, are told from now on. Throws not_supported.
  void watch(std::byte* begin, std::size_t bytes);
  // The same of private anonymous memory: missing pages only, which copy() fills.
  void watch_private(std::byte* begin, std::size_t bytes);
  // Likewise; pages are moved there as well, and may be protected.
  void watch_moved(std::byte* begin, std::size_t bytes);
  // Whether the kernel moves pages (Linux 6.8).
  [[nodiscard]] bool can_move() const noexcept { return can_move_; }
  [[nodiscard]] told how_told() const noexcept { return nobody_waits_ ? told::by_signal : told::by_descriptor; }
  [[nodiscard]] int descriptor_number() const noexcept { return descriptor_.get(); }
  // Who touched; nothing where nobody waits.
  [[nodiscard]] std::optional<user_fault> next() noexcept;
  // Maps pages that the file has, and wakes who waits for them. Protected ones tell their first write. False where the
  // kernel cannot map protected pages (before Linux 6.4): nothing was done then.
  [[nodiscard]] bool map(std::byte* begin, std::size_t bytes, bool is_protected) noexcept;
  // Gives private memory pages, and wakes who waits for them. How many bytes it took, from the first on: up to a page
  // that it has already.
  std::size_t copy(std::byte* to, const std::byte* from, std::size_t bytes, bool is_protected) noexcept;
  // Moves pages of this process's private memory, and wakes nobody. How many bytes could be moved, from the first on.
  std::size_t move(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
  void protect(std::byte* begin, std::size_t bytes) noexcept;
  void allow_writes(std::byte* begin, std::size_t bytes) noexcept;
  // Has who waits touch again.
  void wake(std::byte* begin, std::size_t bytes) noexcept;

 private:
  void begin(std::uint64_t features);
  void watch(std::byte* begin, std::size_t bytes, std::uint64_t how);
  template <class Some>
  std::size_t in_parts(std::size_t bytes, const Some& some) noexcept;
  descriptor descriptor_;
  bool can_move_ = false;
  bool nobody_waits_ = false;
};

}  // namespace situ::rmem::detail
