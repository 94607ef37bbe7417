#include "os/host.h"

#include <situ/base/error_code.h>
#include <situ/base/log.h>

#include <fmt/format.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <limits>
#include <mutex>

namespace situ::detail {
namespace {

constexpr const char* groups_file = "/proc/self/cgroup";

// The result of opening a file of the kernel: opened, missing, or unreadable for the reason in errno.
enum class looked { at_it, not_there, not_at_it };
looked open_to_read(std::ifstream& file, const std::string& path) {
  errno = 0;
  file.open(path);
  if (file.is_open()) return looked::at_it;
  return errno == ENOENT || errno == ENOTDIR ? looked::not_there : looked::not_at_it;
}

// An unknown limit must not count as none: the kernel would kill processes that exceed it. A file that this user may
// not read is logged, once, and is no reason to fail.
void refuse_unread(const std::string& path) {
  const int reason = errno != 0 ? errno : EIO;
  const std::string what = fmt::format("{} cannot be read, so the memory limit of this process is not known: {}", path,
                                       ::strerrordesc_np(reason));
  if (reason != EACCES && reason != EPERM) throw_error(errc::bad_launch, what);
  static std::once_flag is_said;
  std::call_once(is_said, [&] { log(log_level::warning, what); });
}

// Returns the limit in a control group file, or the largest number.
std::uint64_t read_limit(const std::string& path) {
  std::ifstream file;
  std::uint64_t limit = 0;
  const looked how = open_to_read(file, path);
  if (how == looked::at_it && file >> limit) return limit;
  if (how == looked::not_at_it || file.bad()) refuse_unread(path);
  return std::numeric_limits<std::uint64_t>::max();  // "max" does not parse
}

// Calls visit(folder, is_unified) for this process's memory control group and the groups above it, in either version
// of the interface. Returns false if they cannot be read.
template <class Visit>
bool for_each_memory_group(Visit visit) {
  std::ifstream groups;
  const looked how = open_to_read(groups, groups_file);
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",memory,") == std::string::npos) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (std::string group = line.substr(second + 1);; group.erase(group.rfind('/'))) {
      visit(root + (group == "/" ? "" : group), unified);
      if (group.empty() || group.rfind('/') == std::string::npos) break;
    }
  }
  return how != looked::not_at_it && !groups.bad();
}

std::uint64_t control_group_limit() {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  if (!for_each_memory_group([&](const std::string& folder, bool unified) {
        least = std::min(least, read_limit(folder + (unified ? "/memory.max" : "/memory.limit_in_bytes")));
      }))
    refuse_unread(groups_file);
  return least;
}

}  // namespace

std::uint64_t usable_memory_bytes() {
  const std::uint64_t physical =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(physical, control_group_limit());
}

// The largest number means that the file cannot be read: no count reaches it.
std::uint64_t read_oom_kills(const std::string& path) {
  std::ifstream file;
  std::string key;
  std::uint64_t value = 0;
  const looked how = open_to_read(file, path);
  while (file >> key >> value)
    if (key == "oom_kill") return value;
  return how == looked::not_at_it || file.bad() ? std::numeric_limits<std::uint64_t>::max() : 0;
}

std::uint64_t out_of_memory_kills() {
  // depending on the kernel, parent groups count the kills of their children or not: take the largest
  std::uint64_t most = 0;
  const bool is_known = for_each_memory_group([&](const std::string& folder, bool unified) {
    most = std::max(most, read_oom_kills(folder + (unified ? "/memory.events" : "/memory.oom_control")));
  });
  return is_known ? most : std::numeric_limits<std::uint64_t>::max();
}

std::uint64_t steady_ns() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

std::uint32_t allowed_processors() noexcept {
  cpu_set_t sets[8];  // 8192 processors, the most that Linux is built for on x86-64
  if (::sched_getaffinity(0, sizeof sets, sets) != 0)
    return static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return static_cast<std::uint32_t>(CPU_COUNT_S(sizeof sets, sets));
}

bool bind_to_processor(std::uint32_t processor) noexcept {
  const std::size_t bytes = CPU_ALLOC_SIZE(processor + 1);
  cpu_set_t* const set = CPU_ALLOC(processor + 1);
  if (set == nullptr) return false;
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(processor, bytes, set);
  const bool is_bound = ::sched_setaffinity(0, bytes, set) == 0;  // 0: of this thread
  CPU_FREE(set);
  return is_bound;
}

void settle_as_place(std::uint32_t) noexcept {}
void describe_slice(std::uint32_t, const std::byte*, const std::byte*, const std::byte*) noexcept {}

std::uint32_t running_processor() noexcept { return static_cast<std::uint32_t>(::sched_getcpu()); }

// Never the PRIVATE form: sleepers and wakers are different processes that share the page.
void wait_on_word(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t timeout_ns) noexcept {
  const timespec time{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, timeout_ns < 0 ? nullptr : &time, nullptr, 0);
}

void wake_on_word(std::atomic<std::uint32_t>& word, int count) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

void rest(std::int64_t ns) noexcept {
  timespec left{ns / 1'000'000'000, ns % 1'000'000'000};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

void give_way() noexcept { ::sched_yield(); }
std::uint64_t processor_cycles() noexcept { return __builtin_ia32_rdtsc(); }

bool can_order_all_threads() noexcept {
  static const bool can = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return can;
}
void order_all_threads() noexcept { ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); }

bool join_order_of_processes() noexcept {
  const long offered = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  constexpr long wanted = MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
  return offered >= 0 && (offered & wanted) == wanted &&
         ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}
void order_processes() noexcept { ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }

}  // namespace situ::detail
