#include "preload/watcher.h"

#include <linux/close_range.h>
#include <linux/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <initializer_list>
#include <utility>

namespace situ::preload {
namespace {

constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint64_t least_wait = millisecond;
constexpr std::uint64_t most_wait_while_growing = 20 * millisecond;
constexpr std::uint64_t most_wait = 50 * millisecond;
// The lowest rate at which a growing process makes pages: 1 GB/s, one thread's faults of 4 KiB.
constexpr std::uint64_t least_rate = 1;  // bytes a nanosecond
// The process must not pass a threshold within one wait, even if it becomes four times as fast.
constexpr std::uint64_t waits_to_threshold = 4;
constexpr std::uint64_t looks_part = 10;     // invariant 5
constexpr std::uint64_t counting_part = 50;  // the same for a walk over all pages
constexpr std::uint64_t worth_counting = std::uint64_t{4} << 20;
constexpr std::uint64_t worth_moving = std::uint64_t{128} << 10;
constexpr std::uint64_t most_moved = std::uint64_t{8} << 20;  // in a look
constexpr std::uint32_t most_fruitless = 8;                   // looks in which nothing could be moved
constexpr std::uint64_t no_limit = ~std::uint64_t{0};
constexpr std::uint32_t looks_to_settle = 4;  // until threads have heard of the next memory
// A data limit set by the watcher is no multiple of a page, which marks it; the kernel rounds it down.
constexpr std::uint64_t limit_mark = 0x517;

alignas(16) constinit std::uint64_t stack[6144]{};  // of the watcher's thread

std::uint64_t now_ns() noexcept {
  struct {
    long seconds;
    long nanoseconds;
  } time{};
  system_call(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, address_of(&time));
  return static_cast<std::uint64_t>(time.seconds) * 1'000'000'000 + static_cast<std::uint64_t>(time.nanoseconds);
}

void append(char*& to, const char* text) noexcept {
  for (; *text != '\0'; ++text) *to++ = *text;
}

void append(char*& to, std::uint32_t number) noexcept {
  char digits[10];
  int count = 0;
  do digits[count++] = static_cast<char>('0' + number % 10);
  while ((number /= 10) != 0);
  while (count != 0) *to++ = digits[--count];
}

std::uint64_t data_limit() noexcept {
  std::uint64_t limits[2]{};  // rlimit64
  system_call(SYS_prlimit64, 0, RLIMIT_DATA, 0, address_of(limits));
  return limits[0];
}

void set_data_limit(std::uint64_t bytes) noexcept {
  std::uint64_t limits[2]{};
  system_call(SYS_prlimit64, 0, RLIMIT_DATA, 0, address_of(limits));
  limits[0] = bytes < limits[1] ? bytes : limits[1];
  system_call(SYS_prlimit64, 0, RLIMIT_DATA, address_of(limits), 0);
}

bool is_limit_of_ours(std::uint64_t limit) noexcept { return limit % page_bytes == limit_mark; }

}  // namespace

constinit watcher the_watcher;

// --- the thread ---

void watcher::enter() noexcept { the_watcher.run(); }

void watcher::start() noexcept {
  wish_.store(wish_none);
  const signals_blocked quiet;
  if (start_thread(&watcher::enter, stack + sizeof stack / sizeof *stack, &thread_) < 0) thread_.store(0);
}

// A child of vfork has the parent's data with the thread's number, but no such thread.
bool watcher::stop(std::int32_t wish) noexcept {
  if (all_ == nullptr || process_ != system_call(SYS_getpid) || thread_.load() == 0) return false;
  wish_.store(wish);
  wake_all(wish_);
  const std::int32_t last = thread_.load();
  while (thread_.load() != 0) wait_while(thread_, last, nullptr);
  // The thread has left the stack; to the kernel it is one of the process's threads for a little longer.
  while (system_call(SYS_tgkill, process_, last, 0) == 0) system_call(SYS_sched_yield);
  return true;
}

// The replaced limit is in the row of the process itself, if it has become another program, or in its parent's row.
void watcher::restore_data_limit(const control& all) noexcept {
  if (!is_limit_of_ours(data_limit())) return;
  std::uint64_t before = all.data_limit;
  const long own = system_call(SYS_getpid);
  const long parent = system_call(SYS_getppid);
  for (const process_row& row : all.rows) {
    const long process = row.process.load(std::memory_order_acquire);
    const std::uint64_t replaced = row.data_limit.load(std::memory_order_relaxed);
    if ((process != own && process != parent) || process == 0 || replaced == 0) continue;
    before = replaced;
    if (process == own) break;
  }
  set_data_limit(before);
}

void watcher::begin(control& all) noexcept {
  all_ = &all;
  process_ = static_cast<std::int32_t>(system_call(SYS_getpid));
  row_ = take_row(all, process_);
  if (row_ != nullptr) row_->data_limit.store(0, std::memory_order_relaxed);
  // The first look, a millisecond from here, sees which memories are full now.
  memory_ = choose(all, no_memory, forbidden_, [](std::uint32_t) { return memory_use{}; });
  if (memory_ == no_memory) memory_ = last_of(all, forbidden_);
  if (memory_ == no_memory) return;
  preferred_ = memory_;
  is_on_its_own_ = has_policy_of_its_own(all);
  if (!is_on_its_own_) {
    announce(policy_for(all, memory_, true));
    set_thread_policy(newest_policy());
  }
  start();
}

void watcher::begin_in_child() noexcept {
  if (all_ == nullptr) return;
  thread_.store(0);
  if (is_limit_of_ours(data_limit())) set_data_limit(replaced_limit_);
  if (all_->is_for_children == 0) {
    tell_calling_thread(*all_, {});
    all_ = nullptr;
    announce({});
    return;
  }
  process_ = static_cast<std::int32_t>(system_call(SYS_getpid));
  row_ = take_row(*all_, process_);
  tell_calling_thread(*all_, newest_policy());  // the only thread of the child
  is_forked_ = true;
  counted_ = grown_ = where_counted_ = 0;
  for (std::uint64_t& each : owed_) each = 0;
  for (std::uint64_t& each : used_before_) each = 0;
  settling_looks_ = 0;
  is_refusing_ = false;
  turn_.store(turn_free);
  is_dormant_.store(true);
  announce(policy{newest_policy()});  // so that the calling thread notices it
}

void watcher::end() noexcept {
  if (all_ == nullptr || process_ != system_call(SYS_getpid)) return;
  for (std::int32_t turn = turn_free; !turn_.compare_exchange_strong(turn, turn_over); turn = turn_free) {
    if (turn == turn_over) return;
    system_call(SYS_sched_yield);
  }
  open_files();  // files of the process as it is now
  look(true);
  close_files();
}

void watcher::leave_descriptors() noexcept {
  if (system_call(SYS_close_range, 0, ~0U, 0) != 0)  // fails before Linux 5.9
    for (long i = 0; i < 65536; ++i) system_call(SYS_close, i);
  system_call(SYS_chdir, address_of("/"));
}

void watcher::open_files() noexcept {
  statm_.open("/proc/thread-self/statm");
  status_.open("/proc/thread-self/status");
  smaps_rollup_.open("/proc/thread-self/smaps_rollup");
  maps_.open("/proc/thread-self/maps");
  numa_maps_.open("/proc/thread-self/numa_maps");
  for (std::uint32_t i = 0; i < all_->memory_count; ++i) {
    nodes_[i].node = all_->memories[i].node;
    char path[64];
    char* end = path;
    append(end, "/sys/devices/system/node/node");
    append(end, nodes_[i].node);
    append(end, "/meminfo");
    *end = '\0';
    nodes_[i].file.open(path);
    if (!nodes_[i].file.is_open() && nodes_[i].node == 0) nodes_[i].file.open("/proc/meminfo");
  }
}

void watcher::close_files() noexcept {
  for (proc_file* const each : {&statm_, &status_, &smaps_rollup_, &maps_, &numa_maps_}) each->close();
  for (node_file& each : nodes_) each.file.close();
}

// Returns false if the process ends.
bool watcher::take_turn() noexcept {
  std::int32_t turn = turn_free;
  return turn_.compare_exchange_strong(turn, turn_taken);
}

void watcher::run() noexcept {
  leave_descriptors();
  if (!take_turn()) return;
  open_files();
  note_use();
  turn_.store(turn_free);
  system_call(SYS_prctl, PR_SET_NAME, address_of("situ-intent"));
  set_thread_policy({});
  looked_ns_ = now_ns();
  wait_ns_ = is_forked_ ? 2 * least_wait : least_wait;  // most children become another program at once
  while (true) {
    const struct {
      long seconds;
      long nanoseconds;
    } timeout{static_cast<long>(wait_ns_ / (1000 * millisecond)), static_cast<long>(wait_ns_ % (1000 * millisecond))};
    wait_while(wish_, wish_none, &timeout);
    const std::int32_t wish = wish_.load();
    const std::uint64_t begin = now_ns();
    if (wish == wish_pause || !take_turn()) return;
    look(false);
    wait_ns_ = wait_after(now_ns() - begin - apart_ns_);
    looked_ns_ = begin;
    turn_.store(turn_free);
  }
}

std::uint64_t watcher::wait_after(std::uint64_t look_ns) noexcept {
  std::uint64_t wait = most_wait;
  if (grown_ == 0) {
    wait = wait_ns_ * 2;
  } else if (memory_ != no_memory) {
    const std::uint64_t elapsed = now_ns() - looked_ns_;
    const std::uint64_t rate = std::max(least_rate, grown_ / std::max<std::uint64_t>(elapsed, 1));
    wait = is_by_kernel() ? std::min(room_of_all() / rate / waits_to_threshold, most_wait)
                          : std::min(room_of(all_->memories[memory_], use_of(memory_)) / rate / waits_to_threshold,
                                     most_wait_while_growing);
  }
  wait = std::max({wait, least_wait, look_ns * looks_part});
  return std::min(wait, std::max(most_wait, look_ns * looks_part));
}

// Returns the room of all memories in which the kernel places pages by itself.
std::uint64_t watcher::room_of_all() noexcept {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < all_->memory_count && all_->memories[i].step != not_ordered; ++i)
    if ((forbidden_ >> i & 1) == 0) sum += std::min(room_of(all_->memories[i], use_of(i)), no_limit - sum);
  return sum;
}

// --- a look ---

void watcher::look(bool is_last) noexcept {
  for (node_file& each : nodes_) each.is_fresh = false;
  apart_ns_ = 0;
  const sizes now = read_sizes();
  const bool is_there = now.resident != 0;
  if (is_there && row_ != nullptr) {
    account(now);
    if (all_->is_watched != 0 && all_->has_nodes != 0) count_where_it_lies();
    note_peak(*all_);
    if (is_last && !is_forked_) account_missed_peak();
  }
  if (is_last) {
    if (row_ != nullptr) release(*all_, *row_);
    return;
  }
  if (!is_there || is_on_its_own_) return;
  steer(now);
  if (!is_by_kernel()) correct();
}

watcher::sizes watcher::read_sizes() noexcept {
  char text[256];
  text_view line = statm_.read(text);
  sizes found;
  line.take_number();  // mapped
  found.resident = line.take_number() * page_bytes;
  const std::uint64_t shared = line.take_number() * page_bytes;  // of files, and shared memory
  line.take_number();                                            // text
  line.take_number();                                            // libraries: always 0
  found.data = line.take_number() * page_bytes;
  found.anonymous = difference(found.resident, shared);
  if (is_forked_) {
    // Pages that a child shares with its parent count for the parent, until one of them writes or ends.
    char more[4096];
    found.anonymous = smaps_rollup_.read(more).behind("Private_Dirty:").take_number() << 10;
  }
  return found;
}

void watcher::account(const sizes& now) noexcept {
  most_resident_ = std::max(most_resident_, now.resident);
  grown_ = difference(now.anonymous, counted_);
  if (grown_ != 0) {
    const std::uint32_t to =
        charge(*all_, *row_, grown_, memory_, forbidden_, [this](std::uint32_t i) { return use_of(i); });
    if (to != no_memory) memory_ = to;
  } else {
    give_back(*all_, *row_, counted_ - now.anonymous);
  }
  counted_ = now.anonymous;
  if (counted_ < most_anonymous_) return;
  most_anonymous_ = counted_;
  for (std::uint32_t i = 0; i < all_->memory_count; ++i) at_peak_[i] = row_->bytes[i].load(std::memory_order_relaxed);
}

// Accounts for the process's peak, if it was between two looks: takes the look nearest to it, and adds the later
// growth.
void watcher::account_missed_peak() noexcept {
  char text[4096];
  const std::uint64_t most = status_.read(text).behind("VmHWM:").take_number() << 10;
  if (most <= most_resident_) return;
  for (std::uint32_t i = 0; i < all_->memory_count; ++i) set_bytes(*all_, *row_, i, at_peak_[i]);
  counted_ = most_anonymous_;
  memory_ = choose(*all_, no_memory, forbidden_, [this](std::uint32_t i) { return use_of(i); });
  sizes peak;
  peak.resident = most;
  peak.anonymous = most_anonymous_ + (most - most_resident_);
  account(peak);
  note_peak(*all_);
}

// Asks the kernel for the bytes on each node, for memories that are nodes.
void watcher::count_where_it_lies() noexcept {
  const std::uint64_t change = counted_ > where_counted_ ? counted_ - where_counted_ : where_counted_ - counted_;
  const std::uint64_t begin = now_ns();
  if (change < std::max(worth_counting, where_counted_ / 16) || begin < where_again_ns_ || !numa_maps_.is_open())
    return;
  std::uint64_t found[most_memories]{};
  count_by_node(numa_maps_, [&](std::uint32_t node, std::uint64_t bytes) {
    for (std::uint32_t i = 0; i < all_->memory_count; ++i)
      if (all_->memories[i].node == node) {
        found[i] += bytes;
        return;
      }
  });
  counted_ = read_sizes().anonymous;
  where_counted_ = counted_;
  std::uint64_t told = 0;
  for (std::uint32_t i = 0; i < all_->memory_count; ++i) {
    const memory_row& memory = all_->memories[i];
    if (memory.is_alone != 0 && memory.budget_bytes == 0) set_bytes(*all_, *row_, i, found[i]);
    told += row_->bytes[i].load(std::memory_order_relaxed);
  }
  // Pages that the process got during the count are where new pages go.
  if (memory_ != no_memory && all_->memories[memory_].budget_bytes == 0)
    set_bytes(*all_, *row_, memory_, difference(row_->bytes[memory_].load(std::memory_order_relaxed) + counted_, told));
  const std::uint64_t counting_ns = now_ns() - begin;
  apart_ns_ += counting_ns;
  where_again_ns_ = begin + std::max(counting_ns * counting_part, 20 * millisecond);
}

memory_use watcher::use_of(std::uint32_t memory) noexcept {
  node_file* const found = &nodes_[memory];
  if (found->is_fresh) return found->use;
  found->is_fresh = true;
  found->use = {};
  char text[1024];
  const text_view read = found->file.read(text);
  (void)detail::parse_meminfo(read.begin, read.end, found->use);  // else the kernel does not report it
  return found->use;
}

// --- where pages are to come from ---

void watcher::steer(const sizes& now) noexcept {
  for (std::uint32_t tries = 0; tries <= all_->memory_count; ++tries) {
    // Reserve as much as the process has grown since the last look: it may grow as much until the next.
    std::uint32_t next = choose(*all_, memory_, forbidden_, [this](std::uint32_t i) { return use_of(i); }, grown_);
    const bool has_room = next != no_memory;
    if (!has_room) next = last_of(*all_, forbidden_);
    if (next == no_memory) return;
    if (has_room)
      refuse_no_more();
    else
      refuse_more(now);
    memory_ = next;
    const policy wanted = policy_for(*all_, next, has_room);
    if (wanted == newest_policy()) return;
    const bool was_by_kernel = is_by_kernel();
    if (prefer(wanted)) {
      if (was_by_kernel) {  // until now pages went anywhere, and the watcher looked at no node
        note_use();
        preferred_ = next;
      }
      note_excess(preferred_);
      left_ = preferred_;
      preferred_ = next;
      used_before_[next] = all_->memories[next].budget_bytes == 0 ? use_of(next).used_bytes : 0;
      settling_looks_ = all_->memories[left_].budget_bytes == 0 ? looks_to_settle : 0;
      return;
    }
    forbidden_ |= 1U << next;  // a cpuset does not allow the node
  }
}

// Returns false for a range for which the program has set a policy itself.
bool watcher::is_ours(const range& each) const noexcept {
  policy its;
  return get_range_policy(each.begin, its) == 0 && (its.mode == MPOL_DEFAULT || its == newest_policy());
}

// Sets the policy of all ranges, and of the pages that threads make from now on. New ranges need no policy, and get
// none: each would stay apart from its neighbours, and a process has at most 65530. Returns false if the kernel does
// not allow the policy.
bool watcher::prefer(const policy& what) noexcept {
  const std::uint64_t begin = now_ns();
  const long failed = set_thread_policy(what);
  set_thread_policy({});  // of this thread
  if (failed == -EINVAL) return false;
  for_each_range(maps_, [&](const range& each) {
    if (is_ours(each)) set_range_policy(each.begin, each.end, what);
    return true;
  });
  announce(what);
  apart_ns_ += now_ns() - begin;
  return true;
}

void watcher::announce(const policy& what) noexcept {
  const std::uint32_t number = news_.load(std::memory_order_relaxed) + 1;
  newest_[number % 2] = what;
  news_.store(number, std::memory_order_release);
  if (all_ != nullptr && is_by_kernel()) all_->by_kernel.store(1, std::memory_order_relaxed);
}

std::uint32_t watcher::tell_thread() noexcept {
  if (is_dormant_.exchange(false)) start();
  while (true) {
    const std::uint32_t number = news_.load(std::memory_order_acquire);
    if (number == 1) return number;  // no policy has been announced yet
    const policy what = newest_[number % 2];
    std::atomic_thread_fence(std::memory_order_acquire);
    if (news_.load(std::memory_order_relaxed) != number) continue;  // the copy may be half of a newer policy
    if (all_ != nullptr) tell_calling_thread(*all_, what);
    return number;
  }
}

// Starts to measure the growth beyond thresholds from here.
void watcher::note_use() noexcept {
  for (std::uint32_t i = 0; i < all_->memory_count; ++i) used_before_[i] = use_of(i).used_bytes;
}

// Adds to owed_ this process's share of a node's growth beyond its threshold since the last look: the share of the
// process in the node's growth. (Other processes move their own pages. Moved pages are not seen at once: the kernel
// keeps free pages in reserve for each processor, and does not count them as free.)
void watcher::note_excess(std::uint32_t memory) noexcept {
  const memory_row& full = all_->memories[memory];
  const memory_use use = full.budget_bytes == 0 ? use_of(memory) : memory_use{};
  if (use.total_bytes == 0) return;
  const std::uint64_t before = std::exchange(used_before_[memory], use.used_bytes);
  const std::uint64_t threshold = threshold_of(full, use);
  const std::uint64_t excess = difference(use.used_bytes, threshold) -
                               std::min(difference(before, threshold), difference(use.used_bytes, threshold));
  if (before == 0 || excess == 0) return;
  const double share = static_cast<double>(grown_) / static_cast<double>(use.used_bytes - before);
  owed_[memory] += static_cast<std::uint64_t>(static_cast<double>(excess) * std::min(share, 1.0));
}

// Between two looks pages may have gone beyond the threshold of the memory that was next then: moves as many on.
void watcher::correct() noexcept {
  // After a late look, because other threads had the processors, more than one memory may be past its threshold.
  const bool is_late = now_ns() - looked_ns_ > most_wait;
  for (std::uint32_t i = 0; i < all_->memory_count; ++i)
    if (i == preferred_ || (is_late && nodes_[i].is_fresh)) note_excess(i);
  if (settling_looks_ != 0) {
    note_excess(left_);
    if (--settling_looks_ != 0) return;  // while pages are moved, readings do not show new growth
  }
  const memory_row& next = all_->memories[preferred_];
  for (std::uint32_t i = 0; i < all_->memory_count; ++i) {
    const memory_row& full = all_->memories[i];
    if (owed_[i] < worth_moving || full.node == next.node) continue;
    const std::uint64_t wanted = std::min({owed_[i], most_moved, room_of(next, use_of(preferred_))});
    const std::uint64_t begin = now_ns();
    const std::uint64_t moved =
        move_pages_between(maps_, full.node, next.node, wanted, [this](const range& each) { return is_ours(each); });
    apart_ns_ += now_ns() - begin;
    all_->moved_bytes.fetch_add(moved, std::memory_order_relaxed);
    owed_[i] -= std::min(owed_[i], moved);
    fruitless_ = moved == 0 ? fruitless_ + 1 : 0;
    if (fruitless_ == most_fruitless) owed_[i] = fruitless_ = 0;
  }
}

// Called if no memory has room and that must be an error: the kernel then gives the process no further mappings
// (ENOMEM). The process may still touch memory that it has mapped before.
void watcher::refuse_more(const sizes& now) noexcept {
  if (all_->takes_beyond != 0) return;
  const std::uint64_t limit = data_limit();
  if (is_refusing_ || limit <= now.data) return;
  is_refusing_ = true;
  replaced_limit_ = limit;
  if (row_ != nullptr) row_->data_limit.store(limit, std::memory_order_relaxed);
  all_->refusals.fetch_add(1, std::memory_order_relaxed);
  set_data_limit(now.data / page_bytes * page_bytes + limit_mark);
}

void watcher::refuse_no_more() noexcept {
  if (!is_refusing_) return;
  is_refusing_ = false;
  if (is_limit_of_ours(data_limit())) set_data_limit(replaced_limit_);
}

}  // namespace situ::preload
