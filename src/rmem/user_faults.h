// The kernel's userfaultfd, as far as the pager needs it: touches of a mapping that are told of, and the answers.
// By Linux 5.19: missing and present pages of a shared memory file, and write protection of both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rmem/sockets.h"

namespace situ::rmem::detail {

// For tests: as if this kernel were older than Linux 6.4.
inline std::atomic<bool> pretend_old_kernel{false};

struct user_fault {
  std::uintptr_t address = 0;  // of the page
  bool is_write = false;       // the touch was one
  bool is_protected = false;   // by a page that is mapped: its first write
  bool is_present = false;     // the file has the page, the mapping has not
};

class user_faults {
 public:
  // Throws not_supported where the kernel lacks it or forbids it.
  user_faults();
  // One that another process has made for its own memory, and given to this one. Throws not_supported.
  explicit user_faults(descriptor of_process);
  // Touches of these bytes, a mapping of a memory file, are told from now on. Throws not_supported.
  void watch(std::byte* begin, std::size_t bytes);
  // The same of private anonymous memory: missing pages only, which copy() fills.
  void watch_private(std::byte* begin, std::size_t bytes);
  [[nodiscard]] int descriptor_number() const noexcept { return descriptor_.get(); }
  // Who touched; nothing where nobody waits.
  [[nodiscard]] std::optional<user_fault> next() noexcept;
  // Maps pages that the file has, and wakes who waits for them. Protected ones tell their first write. False where the
  // kernel cannot map protected pages (before Linux 6.4): nothing was done then.
  [[nodiscard]] bool map(std::byte* begin, std::size_t bytes, bool is_protected) noexcept;
  // Gives private memory a page, and wakes who waits for it. False where it has it already, or nobody any more.
  bool copy(std::byte* to, const std::byte* page) noexcept;
  void protect(std::byte* begin, std::size_t bytes) noexcept;
  void allow_writes(std::byte* begin, std::size_t bytes) noexcept;
  // Has who waits touch again.
  void wake(std::byte* begin, std::size_t bytes) noexcept;

 private:
  void begin();
  descriptor descriptor_;
};

}  // namespace situ::rmem::detail
