// The part of the kernel's userfaultfd that the pager needs: it reports touches of a mapping, and takes the answers.
// Needs Linux 5.19: missing and present pages of a shared memory file, and write protection of both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "os/descriptor.h"

namespace situ::rmem::detail {

// Lets tests behave as on an older kernel.
enum class kernel : std::uint8_t { this_one, before_6_8, before_6_4 };
inline std::atomic<kernel> pretended_kernel{kernel::this_one};

struct user_fault {
  std::uintptr_t address = 0;  // of the page
  bool is_write = false;       // the touch was a write
  bool is_protected = false;   // the page is mapped and protected: this is its first write
  bool is_present = false;     // the file has the page, and the mapping does not
};

class user_faults {
 public:
  // by_signal: the touching thread gets SIGBUS, and waits for no other thread.
  enum class told : std::uint8_t { by_descriptor, by_signal };
  // Throws not_supported if the kernel lacks userfaultfd or forbids it.
  explicit user_faults(told how = told::by_descriptor);
  // Takes a userfaultfd that another process has made for its own memory and passed here. Throws not_supported.
  explicit user_faults(os::descriptor of_process);
  // Reports touches of these bytes, a mapping of a memory file, from now on. Throws not_supported.
  void watch(std::byte* begin, std::size_t bytes);
  // As watch(), for private anonymous memory: missing pages only, which copy() fills.
  void watch_private(std::byte* begin, std::size_t bytes);
  // As watch_private(); move() may also move pages there, and pages may be protected.
  void watch_moved(std::byte* begin, std::size_t bytes);
  // Returns true if the kernel moves pages (Linux 6.8).
  [[nodiscard]] bool can_move() const noexcept { return can_move_; }
  [[nodiscard]] told how_told() const noexcept { return nobody_waits_ ? told::by_signal : told::by_descriptor; }
  [[nodiscard]] int descriptor_number() const noexcept { return descriptor_.number(); }
  // Returns the next touch; nullopt if no thread waits.
  [[nodiscard]] std::optional<user_fault> next() noexcept;
  // Maps pages that the file has, and wakes the threads that wait for them. The first write to a protected page is
  // reported. Returns false, without effect, if the kernel cannot map protected pages (before Linux 6.4).
  [[nodiscard]] bool map(std::byte* begin, std::size_t bytes, bool is_protected) noexcept;
  // Copies pages into private memory, and wakes the threads that wait for them. Returns the number of bytes taken, from
  // the first on: the call stops at a page that the memory has already.
  std::size_t copy(std::byte* to, const std::byte* from, std::size_t bytes, bool is_protected) noexcept;
  // Moves pages within this process's private memory, and wakes no thread. Returns the number of bytes moved, from the
  // first on.
  std::size_t move(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;
  void protect(std::byte* begin, std::size_t bytes) noexcept;
  void allow_writes(std::byte* begin, std::size_t bytes) noexcept;
  // Makes waiting threads touch again.
  void wake(std::byte* begin, std::size_t bytes) noexcept;

 private:
  void begin(std::uint64_t features);
  void watch(std::byte* begin, std::size_t bytes, std::uint64_t how);
  template <class Some>
  std::size_t in_parts(std::size_t bytes, const Some& some) noexcept;
  os::descriptor descriptor_;
  bool can_move_ = false;
  bool nobody_waits_ = false;
};

}  // namespace situ::rmem::detail
