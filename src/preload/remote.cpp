#include "preload/remote.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace situ::preload {
namespace {

constexpr std::uint64_t page_size = 4096;
constexpr long kept_from = 900;                   // the program's own descriptors are usually below that
constexpr unsigned long make_by_device = 0xAA00;  // USERFAULTFD_IOC_NEW, newer than the headers of Debian 12

std::uint64_t block_signals() noexcept {
  const std::uint64_t all = ~std::uint64_t{0};
  std::uint64_t before = 0;
  system_call(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, address_of(&all), address_of(&before), sizeof before);
  return before;
}
void restore_signals(std::uint64_t mask) noexcept {
  system_call(SYS_rt_sigprocmask, 2, address_of(&mask), 0, sizeof mask);
}

long map_at(std::uint64_t address, std::uint64_t bytes, long access, long flags, long file,
            std::uint64_t offset) noexcept {
  return system_call(SYS_mmap, static_cast<long>(address), static_cast<long>(bytes), access, flags, file,
                     static_cast<long>(offset));
}

__attribute__((tls_model("initial-exec"))) thread_local constinit bool is_forking = false;  // and has the lock

constexpr long reserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// Makes a userfaultfd that also reports the kernel's own touches.
long make_user_faults() noexcept {
  const long made = system_call(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  if (made >= 0) return made;
  const long device = system_call(SYS_open, address_of("/dev/userfaultfd"), O_RDWR | O_CLOEXEC);
  if (device < 0) return made;
  const long second = system_call(SYS_ioctl, device, make_by_device, O_CLOEXEC | O_NONBLOCK);
  system_call(SYS_close, device);
  return second;
}

}  // namespace

constinit remote_memory the_remote_memory;

class remote_memory::locked {
 public:
  explicit locked(remote_memory& of) noexcept : of_{of}, mask_{block_signals()} {
    while (of_.is_locked_.exchange(true, std::memory_order_acquire)) system_call(SYS_sched_yield);
  }
  ~locked() {
    of_.is_locked_.store(false, std::memory_order_release);
    restore_signals(mask_);
  }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;

 private:
  remote_memory& of_;
  std::uint64_t mask_;
};

void remote_memory::begin() noexcept {
  const char* const where = std::getenv(remote_variable);
  const char* const mark = where == nullptr ? nullptr : std::strchr(where, '#');
  if (mark == nullptr || static_cast<std::size_t>(mark - where) >= sizeof name_) return;
  name_length_ = static_cast<std::size_t>(mark - where);
  std::memcpy(name_, where, name_length_);
  char* at = nullptr;
  key_ = std::strtoull(mark + 1, &at, 16);
  if (*at != '#') return;
  const std::uint64_t threshold = std::strtoull(at + 1, &at, 16);
  if (*at != '#') return;
  arena_pages_ = std::strtoull(at + 1, &at, 16);
  if (arena_pages_ != 0 && threshold != 0) threshold_ = threshold;
}

void remote_memory::stay_local(const char* why) noexcept {
  threshold_ = ~std::size_t{0};
  const char* const parts[] = {"situ: large allocations of a process stay local, beyond --local: ", why, "\n"};
  for (const char* const each : parts)
    system_call(SYS_write, 2, address_of(each), static_cast<long>(std::strlen(each)));
}

// --- the launcher ---

long remote_memory::connect() const noexcept {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path + 1, name_, name_length_);
  const long socket = system_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket < 0) return socket;
  const long status = system_call(SYS_connect, socket, address_of(&at),
                                  static_cast<long>(offsetof(sockaddr_un, sun_path) + 1 + name_length_));
  if (status == 0) return socket;
  system_call(SYS_close, socket);
  return status;
}

bool remote_memory::exchange(long socket, remote_message message, long sent, remote_answer& answer,
                             long* received) const noexcept {
  message.key = key_;
  if (message.process == 0) message.process = process_;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(std::int32_t))]{};
  iovec bytes{&message, sizeof message};
  msghdr head{};
  head.msg_iov = &bytes;
  head.msg_iovlen = 1;
  if (sent >= 0) {
    head.msg_control = room;
    head.msg_controllen = sizeof room;
    auto* const part = reinterpret_cast<cmsghdr*>(room);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(std::int32_t));
    const auto number = static_cast<std::int32_t>(sent);
    std::memcpy(CMSG_DATA(part), &number, sizeof number);
  }
  if (system_call(SYS_sendmsg, socket, address_of(&head), MSG_NOSIGNAL) != static_cast<long>(sizeof message))
    return false;
  bytes = {&answer, sizeof answer};
  head.msg_control = room;
  head.msg_controllen = sizeof room;
  if (system_call(SYS_recvmsg, socket, address_of(&head), MSG_CMSG_CLOEXEC) != static_cast<long>(sizeof answer))
    return false;
  if (received == nullptr || head.msg_controllen < CMSG_LEN(sizeof(std::int32_t))) return true;
  std::int32_t number = -1;
  std::memcpy(&number, CMSG_DATA(reinterpret_cast<cmsghdr*>(room)), sizeof number);
  *received = number;
  return true;
}

bool remote_memory::tell(remote_request what, std::uint64_t first, std::uint64_t pages) const noexcept {
  const long socket = connect();
  if (socket < 0) return false;
  remote_message message;
  message.what = what;
  message.first = first;
  message.pages = pages;
  remote_answer answer;
  const bool is_done = exchange(socket, message, -1, answer, nullptr) && answer.status == 0;
  system_call(SYS_close, socket);
  return is_done;
}

bool remote_memory::enter() noexcept {
  if (span_ != 0) return process_ != 0;
  const std::uint64_t bytes = arena_pages_ * page_size;
  const long made = map_at(0, bytes, PROT_NONE, reserved, -1, 0);
  if (made < 0 && made > -4096) {
    stay_local("no room for its addresses (ulimit -v)");
    return false;
  }
  const long faults = make_user_faults();
  const long socket = faults < 0 ? faults : connect();
  remote_message message;
  message.what = remote_request::enter;
  message.base = static_cast<std::uint64_t>(made);
  remote_answer answer;
  const bool is_in = socket >= 0 && exchange(socket, message, faults, answer, nullptr) && answer.status == 0;
  if (socket >= 0) system_call(SYS_close, socket);
  if (is_in) {
    kept_ = system_call(SYS_fcntl, faults, F_DUPFD_CLOEXEC, kept_from);
    process_ = answer.process;
    base_ = static_cast<std::uintptr_t>(made);
    span_ = bytes;
  } else {
    system_call(SYS_munmap, made, static_cast<long>(bytes));
    stay_local(faults < 0 ? "it may not have the kernel's own touches told (userfaultfd)"
                          : "it does not reach the process that started it");
  }
  if (faults >= 0) system_call(SYS_close, faults);
  return is_in;
}

// --- ranges ---

// Returns the index of the first range that ends behind this page.
std::size_t remote_memory::find(std::uint64_t page) const noexcept {
  std::size_t low = 0;
  std::size_t high = count_;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (ranges_[middle].first + ranges_[middle].pages <= page)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool remote_memory::insert(std::size_t at, const range& what) noexcept {
  if (count_ == most_ranges) return false;
  std::memmove(ranges_ + at + 1, ranges_ + at, (count_ - at) * sizeof(range));
  ranges_[at] = what;
  ++count_;
  return true;
}

void remote_memory::remove(std::size_t at) noexcept {
  std::memmove(ranges_ + at, ranges_ + at + 1, (--count_ - at) * sizeof(range));
}

// Splits the range that holds this page, if any, so that a range begins with the page.
bool remote_memory::split(std::uint64_t page) noexcept {
  const std::size_t at = find(page);
  if (at == count_ || ranges_[at].first >= page) return true;
  range rest = ranges_[at];
  rest.pages -= page - rest.first;
  rest.first = page;
  if (!insert(at + 1, rest)) return false;
  ranges_[at].pages = page - ranges_[at].first;
  return true;
}

void remote_memory::take_out(std::uint64_t first, std::uint64_t end, bool unmaps) noexcept {
  // If there is no room for one more range, the pages stay allocated.
  if (!split(first) || !split(end)) return;
  for (std::size_t at = find(first); at < count_ && ranges_[at].first < end;) {
    const range gone = ranges_[at];
    if (unmaps) map_at(base_ + gone.first * page_size, gone.pages * page_size, PROT_NONE, reserved | MAP_FIXED, -1, 0);
    remove(at);
    tell(remote_request::give_back, gone.first, gone.pages);
  }
}

bool remote_memory::allocate(std::size_t bytes, std::size_t alignment, kind what, int access, void*& made) noexcept {
  const locked held{*this};
  if (!takes(bytes) || !enter()) return false;
  if (bytes > arena_pages_ * page_size) bytes = arena_pages_ * page_size + 1;  // more than there is, without overflow
  const std::uint64_t extra = alignment > page_size ? alignment / page_size - 1 : 0;
  const std::uint64_t pages = (bytes + page_size - 1) / page_size + extra;
  const long socket = count_ == most_ranges ? -1 : connect();
  if (socket < 0) {
    stay_local(count_ == most_ranges ? "it has 16384 of them" : "it does not reach the process that started it");
    return false;
  }
  remote_message message;
  message.what = remote_request::allocate;
  message.pages = pages;
  remote_answer answer;
  long file = -1;
  bool is_there = false;
  const bool is_asked = exchange(socket, message, -1, answer, &file);
  const bool is_full = is_asked && answer.status == -ENOMEM;
  if (is_asked && answer.status == 0 && file >= 0) {
    const std::uint64_t address = base_ + answer.first * page_size;
    const long at = map_at(address, pages * page_size, access, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file,
                           answer.first * page_size);
    if (at == static_cast<long>(address)) {
      system_call(SYS_madvise, at, static_cast<long>(pages * page_size), MADV_DONTFORK);
      system_call(SYS_madvise, at, static_cast<long>(pages * page_size), MADV_DONTDUMP);
      const std::uint64_t first = answer.first;
      message.what = remote_request::mapped;
      message.first = first;
      is_there = exchange(socket, message, -1, answer, nullptr) && answer.status == 0;
      const std::uint64_t unaligned = address % alignment;
      const std::uint64_t block = unaligned == 0 ? address : address + alignment - unaligned;
      insert(find(first), {first, pages, what == kind::block ? block : 0, access, false});
      made = reinterpret_cast<void*>(block);
    }
  }
  if (file >= 0) system_call(SYS_close, file);
  system_call(SYS_close, socket);
  if (is_full) {
    made = nullptr;
    return true;
  }
  if (!is_there) stay_local("the process that started it refuses");
  return is_there;
}

void remote_memory::release(void* block) noexcept {
  const locked held{*this};
  const auto [first, end] = pages_of_block(block);
  if (first == end) std::abort();  // as free() does
  take_out(first, end, true);
}

std::size_t remote_memory::usable_bytes(void* block) noexcept {
  const locked held{*this};
  const auto [first, end] = pages_of_block(block);
  return first == end ? 0 : base_ + end * page_size - reinterpret_cast<std::uintptr_t>(block);
}

// Changes of access may have split the block into several ranges.
remote_memory::run remote_memory::pages_of_block(const void* block) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  std::size_t at = find((address - base_) / page_size);
  if (at == count_ || ranges_[at].block != address) return {0, 0};
  while (at > 0 && ranges_[at - 1].block == address) --at;
  run found{ranges_[at].first, ranges_[at].first};
  for (; at < count_ && ranges_[at].block == address && ranges_[at].first == found.end; ++at)
    found.end += ranges_[at].pages;
  return found;
}

void remote_memory::unmap(void* begin, std::size_t bytes) noexcept {
  const locked held{*this};
  const std::uint64_t first = (reinterpret_cast<std::uintptr_t>(begin) - base_) / page_size;
  take_out(first, first + (bytes + page_size - 1) / page_size, true);
}
void remote_memory::forget(void* begin, std::size_t bytes) noexcept {
  const locked held{*this};
  const std::uint64_t first = (reinterpret_cast<std::uintptr_t>(begin) - base_) / page_size;
  take_out(first, first + (bytes + page_size - 1) / page_size, false);
}

void remote_memory::note_access(void* begin, std::size_t bytes, int access) noexcept {
  const locked held{*this};
  const std::uint64_t first = (reinterpret_cast<std::uintptr_t>(begin) - base_) / page_size;
  const std::uint64_t end = first + (bytes + page_size - 1) / page_size;
  const std::size_t at = find(first);
  if (at < count_ && ranges_[at].first <= first && ranges_[at].first + ranges_[at].pages >= end &&
      ranges_[at].access == access)
    return;
  if (!split(first) || !split(end)) return;
  for (std::size_t each = find(first); each < count_ && ranges_[each].first < end; ++each)
    ranges_[each].access = access;
}

bool remote_memory::make_blank(void* begin, std::size_t bytes) noexcept {
  const locked held{*this};
  const std::uint64_t first = (reinterpret_cast<std::uintptr_t>(begin) - base_) / page_size;
  const std::uint64_t end = first + (bytes + page_size - 1) / page_size;
  if (!tell(remote_request::make_blank, first, end - first)) {
    for (std::size_t at = find(first); at < count_ && ranges_[at].first < end; ++at)
      if ((ranges_[at].access & PROT_WRITE) == 0) return false;
    std::memset(begin, 0, (end - first) * page_size);
  }
  // Ranges that a forked child has copied are plain memory of the kernel.
  for (std::size_t at = find(first); at < count_ && ranges_[at].first < end; ++at) {
    if (!ranges_[at].is_copy) continue;
    const std::uint64_t from = ranges_[at].first > first ? ranges_[at].first : first;
    const std::uint64_t its_end = ranges_[at].first + ranges_[at].pages;
    const std::uint64_t to = its_end < end ? its_end : end;
    system_call(SYS_madvise, static_cast<long>(base_ + from * page_size), static_cast<long>((to - from) * page_size),
                MADV_DONTNEED);
  }
  return true;
}

// --- forks ---

void remote_memory::before_fork() noexcept {
  if (threshold_ == ~std::size_t{0} && span_ == 0) return;
  const std::uint64_t mask = block_signals();
  while (is_locked_.exchange(true, std::memory_order_acquire)) system_call(SYS_sched_yield);
  mask_at_fork_ = mask;
  is_forking = true;
  if (span_ == 0 || process_ == 0) return;
  if (system_call(SYS_pipe2, address_of(fork_pipe_), O_CLOEXEC) != 0) fork_pipe_[0] = fork_pipe_[1] = -1;
  fork_socket_ = fork_pipe_[0] < 0 ? -1 : connect();
  if (fork_socket_ < 0) return;
  remote_message message;
  message.what = remote_request::freeze;
  remote_answer answer;
  if (exchange(fork_socket_, message, -1, answer, nullptr) && answer.status == 0) return;
  system_call(SYS_close, fork_socket_);
  fork_socket_ = -1;
}

// The parent waits until the pipe has no writer: then the child has ended, or has its memory.
void remote_memory::after_fork() noexcept {
  if (!is_forking) return;
  is_forking = false;
  if (span_ != 0 && process_ != 0) {
    char none = 0;
    if (fork_pipe_[0] >= 0) {
      system_call(SYS_close, fork_pipe_[1]);
      while (system_call(SYS_read, fork_pipe_[0], address_of(&none), 1) == -EINTR) {}
      system_call(SYS_close, fork_pipe_[0]);
    }
    if (fork_socket_ >= 0) {  // kept for this message: a new connection might fail
      remote_message message;
      message.what = remote_request::thaw;
      remote_answer answer;
      const bool is_told = exchange(fork_socket_, message, -1, answer, nullptr) && answer.status == 0;
      system_call(SYS_close, fork_socket_);
      fork_socket_ = -1;
      if (!is_told) tell(remote_request::thaw, 0, 0);
    }
  }
  const std::uint64_t mask = mask_at_fork_;
  is_locked_.store(false, std::memory_order_release);
  restore_signals(mask);
}

void remote_memory::begin_in_child() noexcept {
  if (!is_forking) return;
  is_forking = false;
  if (span_ != 0 && process_ != 0) {
    if (kept_ >= 0) system_call(SYS_close, kept_);  // it belongs to the parent's memory
    for (std::size_t at = 0; at < count_; ++at) {
      range& each = ranges_[at];
      if (each.is_copy) continue;
      map_at(base_ + each.first * page_size, each.pages * page_size, each.access, reserved | MAP_FIXED, -1, 0);
      each.is_copy = true;
    }
    const long faults = make_user_faults();
    // Pages that are not frozen may be written while they are copied.
    const long socket = faults < 0 || fork_socket_ < 0 ? -1 : connect();
    remote_message message;
    message.what = remote_request::enter_forked;
    message.base = base_;
    remote_answer answer;
    const bool is_in = socket >= 0 && exchange(socket, message, faults, answer, nullptr) && answer.status == 0;
    if (socket >= 0) system_call(SYS_close, socket);
    process_ = is_in ? answer.process : 0;
    kept_ = is_in ? system_call(SYS_fcntl, faults, F_DUPFD_CLOEXEC, kept_from) : -1;
    if (faults >= 0) system_call(SYS_close, faults);
    if (!is_in) {  // no memory is better than zeros
      map_at(base_, span_, PROT_NONE, reserved | MAP_FIXED, -1, 0);
      stay_local("it is a forked child that has none of its parent's");
    }
    for (const std::int32_t each : fork_pipe_)
      if (each >= 0) system_call(SYS_close, each);
    if (fork_socket_ >= 0) system_call(SYS_close, fork_socket_);
    fork_socket_ = -1;
  }
  const std::uint64_t mask = mask_at_fork_;
  is_locked_.store(false, std::memory_order_release);
  restore_signals(mask);
}

}  // namespace situ::preload
