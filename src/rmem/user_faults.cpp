#include "rmem/user_faults.h"

#include <situ/base/error_code.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/host.h"

namespace situ::rmem::detail {
namespace {

// Definitions newer than the kernel headers of Debian 12.
constexpr std::uint64_t continue_mode_protected = 2;
constexpr std::uint64_t feature_move = 1 << 16;
constexpr std::uint64_t move_mode_wakes_nobody = 1;
struct move_request {
  std::uint64_t to;
  std::uint64_t from;
  std::uint64_t bytes;
  std::uint64_t mode;
  std::int64_t moved;
};
constexpr unsigned long uffdio_move = _IOWR(UFFDIO, 0x05, move_request);
constexpr std::uint64_t features = UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM |
                                   UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;

[[noreturn]] void refuse(const char* what) {
  throw_error(errc::not_supported,
              fmt::format("remote memory as ordinary pointers needs the kernel's userfaultfd (Linux 5.19): {}: {}",
                          what, std::strerror(errno)));
}

uffdio_range range_of(std::byte* begin, std::size_t bytes) noexcept {
  return {reinterpret_cast<std::uintptr_t>(begin), bytes};
}

// Repeats an ioctl while the kernel returns EAGAIN, as it does while the address space changes (a fork, another
// mapping).
template <class Argument>
int ask(int descriptor, unsigned long what, Argument& with) noexcept {
  int status = 0;
  do status = ::ioctl(descriptor, what, &with);
  while (status != 0 && errno == EAGAIN);
  return status;
}

}  // namespace

user_faults::user_faults(told how) : nobody_waits_{how == told::by_signal} {
  long made = ::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  if (made < 0) made = ::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
  if (made < 0) refuse("it is refused");
  descriptor_ = os::descriptor{static_cast<int>(made)};
  begin(features | (nobody_waits_ ? UFFD_FEATURE_SIGBUS : 0));
}

user_faults::user_faults(os::descriptor of_process) : descriptor_{std::move(of_process)} { begin(features); }

void user_faults::begin(std::uint64_t features) {
  uffdio_api api{UFFD_API, features | feature_move, 0};
  can_move_ = pretended_kernel.load(std::memory_order_relaxed) == kernel::this_one &&
              ::ioctl(descriptor_.number(), UFFDIO_API, &api) == 0;
  if (can_move_) return;
  api = {UFFD_API, features, 0};
  if (::ioctl(descriptor_.number(), UFFDIO_API, &api) != 0) refuse("this one is older");
}

void user_faults::watch(std::byte* begin, std::size_t bytes, std::uint64_t how) {
  uffdio_register all{range_of(begin, bytes), how, 0};
  if (::ioctl(descriptor_.number(), UFFDIO_REGISTER, &all) != 0) refuse("a mapping is not taken");
}
void user_faults::watch(std::byte* begin, std::size_t bytes) {
  watch(begin, bytes, UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP);
}
void user_faults::watch_private(std::byte* begin, std::size_t bytes) {
  watch(begin, bytes, UFFDIO_REGISTER_MODE_MISSING);
}
void user_faults::watch_moved(std::byte* begin, std::size_t bytes) {
  watch(begin, bytes, UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
}

std::optional<user_fault> user_faults::next() noexcept {
  uffd_msg message{};
  do {
    const ssize_t got = ::read(descriptor_.number(), &message, sizeof message);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof message)) return std::nullopt;
  } while (message.event != UFFD_EVENT_PAGEFAULT);
  const std::uint64_t flags = message.arg.pagefault.flags;
  return user_fault{
      .address = static_cast<std::uintptr_t>(message.arg.pagefault.address) & ~(situ::detail::page_bytes - 1),
      .is_write = (flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP)) != 0,
      .is_protected = (flags & UFFD_PAGEFAULT_FLAG_WP) != 0,
      .is_present = (flags & UFFD_PAGEFAULT_FLAG_MINOR) != 0};
}

bool user_faults::map(std::byte* begin, std::size_t bytes, bool is_protected) noexcept {
  if (is_protected && pretended_kernel.load(std::memory_order_relaxed) == kernel::before_6_4) return false;
  std::size_t step = bytes;
  while (bytes > 0) {
    uffdio_continue pages{};
    pages.range = range_of(begin, std::min(step, bytes));
    pages.mode = is_protected ? continue_mode_protected : 0;
    std::size_t done = pages.range.len;
    if (ask(descriptor_.number(), UFFDIO_CONTINUE, pages) != 0) {
      if (errno == EINVAL && is_protected) return false;
      // Some pages may be mapped already, by a touch that needed no help, or lie in several mappings. So each is done
      // by itself.
      done = step > situ::detail::page_bytes ? 0 : situ::detail::page_bytes;
      step = situ::detail::page_bytes;
      if (done > 0) wake(begin, done);
    }
    begin += done;
    bytes -= done;
  }
  return true;
}

// Calls some(done) until all bytes are done, or it fails. some() begins behind the first `done` bytes, and adds the
// number that it has done. The kernel ends such a call early if the address space changes in between.
template <class Some>
std::size_t user_faults::in_parts(std::size_t bytes, const Some& some) noexcept {
  for (std::size_t done = 0;;)
    if (some(done) || errno != EAGAIN || done == bytes) return done;
}

std::size_t user_faults::copy(std::byte* to, const std::byte* from, std::size_t bytes, bool is_protected) noexcept {
  const std::size_t copied = in_parts(bytes, [&](std::size_t& done) {
    uffdio_copy pages{reinterpret_cast<std::uintptr_t>(to + done), reinterpret_cast<std::uintptr_t>(from + done),
                      bytes - done, is_protected ? UFFDIO_COPY_MODE_WP : 0, 0};
    const bool is_all = ::ioctl(descriptor_.number(), UFFDIO_COPY, &pages) == 0;
    if (pages.copy > 0) done += static_cast<std::size_t>(pages.copy);
    return is_all;
  });
  if (copied < bytes) wake(to + copied, bytes - copied);
  return copied;
}

std::size_t user_faults::move(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  return in_parts(bytes, [&](std::size_t& done) {
    move_request pages{reinterpret_cast<std::uintptr_t>(to + done), reinterpret_cast<std::uintptr_t>(from + done),
                       bytes - done, move_mode_wakes_nobody, 0};
    const bool is_all = ::ioctl(descriptor_.number(), uffdio_move, &pages) == 0;
    if (pages.moved > 0) done += static_cast<std::size_t>(pages.moved);
    return is_all;
  });
}

void user_faults::protect(std::byte* begin, std::size_t bytes) noexcept {
  uffdio_writeprotect pages{range_of(begin, bytes), UFFDIO_WRITEPROTECT_MODE_WP};
  ask(descriptor_.number(), UFFDIO_WRITEPROTECT, pages);
}
void user_faults::allow_writes(std::byte* begin, std::size_t bytes) noexcept {
  uffdio_writeprotect pages{range_of(begin, bytes), 0};
  if (ask(descriptor_.number(), UFFDIO_WRITEPROTECT, pages) != 0) wake(begin, bytes);
}
void user_faults::wake(std::byte* begin, std::size_t bytes) noexcept {
  if (nobody_waits_) return;
  uffdio_range pages = range_of(begin, bytes);
  ::ioctl(descriptor_.number(), UFFDIO_WAKE, &pages);
}

}  // namespace situ::rmem::detail
