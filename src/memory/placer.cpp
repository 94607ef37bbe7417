#include "memory/placer.h"

#include <situ/base/detail/assert.h>
#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "os/descriptor.h"
#include "os/host.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; the headers may be older than the kernel
#endif

namespace situ::detail {
namespace {

constexpr std::size_t coarse_chunk = huge_page_bytes;
constexpr std::size_t most_pages = coarse_chunk / page_bytes;  // per chunk

// The number of processes that may place in a memory at the same pace (invariant 3): those of eight places. If it were
// smaller, readings would be rarer, but overshoot likelier: near a threshold a reading costs as much as 64 KiB of pages.
constexpr std::uint64_t paced_placers = 8;
constexpr std::uint64_t coarse_room = paced_placers * coarse_chunk;  // from this room on

// Whatever the room, it is read again after this many bytes: other processes may be faster than this one. A reading
// takes some 10 us, and these bytes take 16 ms with the fastest faults measured (0.25 us for 4 KiB).
constexpr std::uint64_t most_unread = std::uint64_t{128} << 20;

// The part of a node that gets no page, whatever the threshold: with less free memory the system reclaims
// aggressively, and kills processes if that fails.
constexpr std::uint64_t kept_part = 64;
constexpr std::uint64_t most_kept = std::uint64_t{512} << 20;

constexpr std::uint64_t no_known_limit = std::numeric_limits<std::uint64_t>::max();

// The number of pages of a chunk whose node is checked. The first and the last are among them: if a node fills up amid
// a chunk, the last one is elsewhere.
constexpr std::size_t pages_asked = 8;

// A kernel without NUMA has the same lines in /proc/meminfo.
std::array<char, 64> meminfo_path(std::uint32_t node) noexcept {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/sys/devices/system/node/node%u/meminfo", node);
  if (node == 0 && ::access(path.data(), F_OK) != 0) std::snprintf(path.data(), path.size(), "/proc/meminfo");
  return path;
}

ssize_t read_node_meminfo(std::uint32_t node, char* text, std::size_t bytes) noexcept {
  const int file = above_standard(::open(meminfo_path(node).data(), O_RDONLY | O_CLOEXEC));
  if (file < 0) return -1;
  const ssize_t read = ::read(file, text, bytes);
  ::close(file);
  return read;
}

// Returns the high watermarks of the node's zones, in bytes; the file has them in pages:
//   Node 3, zone   Normal
//     pages free     126105
//           ...
//           high     7260
std::uint64_t read_high_marks(std::uint32_t node) noexcept {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen("/proc/zoneinfo", "re"), &std::fclose};
  if (!file) return 0;
  std::uint64_t pages = 0;
  bool is_its = false;
  char line[256];
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    unsigned number = 0;
    unsigned long long high = 0;
    if (std::sscanf(line, "Node %u, zone", &number) == 1) is_its = number == node;
    if (is_its && std::sscanf(line, " high %llu", &high) == 1) pages += high;
  }
  return pages * page_bytes;
}

int prefer_node(void* address, std::size_t bytes, std::uint32_t node) noexcept {
  constexpr std::uint32_t word_bits = 8 * sizeof(unsigned long);
  unsigned long mask[node_limit / word_bits] = {};
  mask[node / word_bits] = 1ul << (node % word_bits);
  // The kernel subtracts one from the number of bits first.
  return static_cast<int>(::syscall(SYS_mbind, address, bytes, MPOL_PREFERRED, mask, node + 2ul, 0));
}

void touch_pages(void* address, std::size_t bytes) noexcept {
  auto* const pages = static_cast<volatile std::byte*>(address);
  for (std::size_t at = 0; at < bytes; at += page_bytes) pages[at] = std::byte{0};
}

std::uint64_t part_of(std::uint64_t bytes, double fill) noexcept {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * fill);
}

// Returns the bytes of a node that may be in use.
std::uint64_t limit_of(std::uint64_t total_bytes, double fill, std::uint64_t kept_free) noexcept {
  const std::uint64_t kept = std::max(std::min(total_bytes / kept_part, most_kept), kept_free);
  return std::min(part_of(total_bytes, fill), total_bytes - std::min(total_bytes, kept));
}

std::uint64_t difference(std::uint64_t more, std::uint64_t less) noexcept { return more > less ? more - less : 0; }

// Adds bytes to the budget's use, unless that exceeds the threshold. Relaxed: the counter publishes nothing.
bool reserve(byte_budget& budget, double fill, std::uint64_t bytes) noexcept {
  const std::uint64_t limit = part_of(budget.bytes.load(std::memory_order_relaxed), fill);
  std::uint64_t used = budget.used.load(std::memory_order_relaxed);
  do {
    if (used + bytes > limit) return false;
  } while (!budget.used.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return true;
}

void check(const spill_memory& what) {
  if (what.weight == 0) throw_error(errc::bad_argument, fmt::format("NUMA node {} has the weight 0", what.node));
  if (!(what.fill > 0 && what.fill <= 1))
    throw_error(errc::bad_argument, fmt::format("NUMA node {} is to be filled up to {}: give a part above 0, at most 1",
                                                what.node, what.fill));
  if (what.node >= node_limit) throw_error(errc::bad_argument, fmt::format("there is no NUMA node {}", what.node));
}

}  // namespace

const placement_calls& system_placement_calls() noexcept {
  static constexpr placement_calls calls{
      .find_meminfo = [](std::uint32_t node) noexcept { return ::access(meminfo_path(node).data(), R_OK); },
      .read_meminfo = read_node_meminfo,
      .kept_free = read_high_marks,
      .prefer = prefer_node,
      .advise = [](void* address, std::size_t bytes, int advice) noexcept { return ::madvise(address, bytes, advice); },
      .touch = touch_pages,
      .move =
          [](std::size_t pages, void** addresses, const int* nodes, int* status) noexcept {
            // Pages that other processes map, too, can be moved only with CAP_SYS_NICE.
            const long moved = ::syscall(SYS_move_pages, 0, pages, addresses, nodes, status,
                                         nodes == nullptr ? MPOL_MF_MOVE : MPOL_MF_MOVE_ALL);
            if (nodes == nullptr || moved == 0 || errno != EPERM) return static_cast<int>(moved);
            return static_cast<int>(::syscall(SYS_move_pages, 0, pages, addresses, nodes, status, MPOL_MF_MOVE));
          },
      .residence = [](void* address, std::size_t bytes,
                      unsigned char* resident) noexcept { return ::mincore(address, bytes, resident); },
      .ordered_policies = kernel_orders_here,
      .bind_ordered = bind_ordered,
      .node_here = node_of_this_thread,
      .processors = machine::processor_set::of_this_thread};
  return calls;
}

placer::placer(const spill_ordering& ordering, const placement_calls& calls, promises* promised)
    : calls_{calls}, policy_{ordering.policy}, fine_chunk_{ordering.least_chunk}, promised_{promised} {
  if (ordering.steps.empty()) throw_error(errc::bad_argument, "an ordering without a memory");
  for (const std::vector<spill_memory>& each : ordering.steps) {
    if (each.empty()) throw_error(errc::bad_argument, "a step of an ordering without a memory");
    const std::size_t begin = memories_.size();
    for (const spill_memory& what : each) add(what);
    steps_.push_back({begin, memories_.size()});
  }
  if (calls_.ordered_policies == nullptr || calls_.ordered_policies().empty()) return;
  kernel_nodes_ = nodes_for_kernel();
  if (!kernel_nodes_.empty()) kernel_policy_ = find_kernel_policy();
}

int placer::find_kernel_policy() const {
  const kernel_order* const found =
      calls_.ordered_policies().find_from_all(calls_.processors(), kernel_nodes_, memories_.front().what.fill);
  return found == nullptr ? 0 : found->mode;
}

// Returns the nodes of an ordering of single whole nodes with equal thresholds; an empty list for any other ordering.
std::vector<std::uint32_t> placer::nodes_for_kernel() const {
  std::vector<std::uint32_t> nodes;
  for (const memory& each : memories_) {
    if (each.what.budget != nullptr || each.what.fill != memories_.front().what.fill) return {};
    nodes.push_back(each.what.node);
  }
  return steps_.size() == memories_.size() ? nodes : std::vector<std::uint32_t>{};
}

void placer::add(const spill_memory& what) {
  check(what);
  is_node_0_only_ = is_node_0_only_ && what.node == 0;
  memories_.push_back({what, what.budget != nullptr ? 0 : find_or_add_node(what.node)});
}

std::size_t placer::find_or_add_node(std::uint32_t number) {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [number](const node& each) { return each.number == number; });
  if (found != nodes_.end()) return static_cast<std::size_t>(found - nodes_.begin());
  const bool is_told = calls_.find_meminfo(number) == 0;
  const int reason = errno;
  const bool is_hidden = reason == ENOENT || reason == EACCES || reason == EPERM;
  if (!is_told && !(number == 0 && is_hidden)) {
    if (reason == ENOENT) throw_error(errc::bad_argument, fmt::format("there is no NUMA node {}", number));
    throw_error(errc::not_supported,
                fmt::format("the free memory of NUMA node {} cannot be read: {}", number, std::strerror(reason)));
  }
  nodes_.push_back({number, is_told, calls_.kept_free(number)});
  return nodes_.size() - 1;
}

// The state of one call of place(): its readings and choices so far.
class placer::placement {
 public:
  placement(const placer& by, std::byte* address, std::size_t bytes, huge_page_maker* huge, promise_map* notes,
            when_full policy);
  placement_report run();
  placement_report run_move(std::vector<held_bytes> held, promise_map* own);

 private:
  struct reading {
    bool is_there = false;
    std::uint64_t total_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t placed_since = 0;    // bytes placed by this call
    std::uint64_t promised_bytes = 0;  // promised on the node before the reading
    std::uint64_t promised_since = 0;  // bytes promised by this call
    std::uint64_t own_bytes = 0;       // the part of promised_bytes that belongs to the moving range
  };
  struct choice {
    std::size_t memory;
    std::size_t step;
    std::size_t bytes;
    std::size_t reserved = 0;  // bytes that this call has reserved in the budget, or in the node's sum
  };
  // The state of a memory in the search. A `full` one is read again before the call reports no room; a `dry` one,
  // which gave no page although it showed room, is not.
  enum class gate : std::uint8_t { open, full, dry };
  enum class binding : std::uint8_t { done, not_allowed, refused };

  void leave_to_kernel();
  [[nodiscard]] bool is_nothing_promised() const noexcept;
  [[nodiscard]] std::uint64_t held_by(const byte_budget* budget) noexcept {
    const std::uint64_t* const held = held_of(budget);
    return held == nullptr ? 0 : *held;
  }
  [[nodiscard]] std::uint64_t* held_of(const byte_budget* budget) noexcept;
  [[nodiscard]] bool take(choice& to);
  [[nodiscard]] std::optional<choice> choose();
  [[nodiscard]] std::optional<choice> choose_beyond();
  [[nodiscard]] std::optional<choice> find_room();
  [[nodiscard]] std::optional<choice> last_allowed() const noexcept;
  [[nodiscard]] std::uint64_t room(std::size_t index, std::size_t least);
  [[nodiscard]] bool is_old(const reading& last, std::uint64_t shown) const noexcept;
  [[nodiscard]] std::uint64_t shown_room(std::size_t index) const noexcept;
  void read(std::size_t node_index);
  void reopen() noexcept;
  [[nodiscard]] std::uint64_t promised_now(std::size_t node_index) const noexcept;
  [[nodiscard]] std::uint64_t room_of_node(std::size_t index);
  [[nodiscard]] bool reserve_promise(const choice& to) noexcept;
  void withdraw(const choice& to) noexcept;

  [[nodiscard]] std::uint64_t bytes_here_on(std::uint32_t node, std::size_t bytes) const;
  void give_plan_up(const std::vector<choice>& plan) noexcept;
  void move_chunk(const choice& to);
  [[nodiscard]] std::size_t take_home(const choice& to, void** astray, std::size_t pages);
  [[nodiscard]] bool put(const choice& to);
  [[nodiscard]] bool realize(const choice& to);
  [[nodiscard]] binding prefer(const choice& to);
  [[nodiscard]] bool make_pages(std::size_t bytes);
  void count(const choice& to);
  void correct(const choice& to);
  // Counts the pages that exist on another node than they should, and moves their addresses to the front.
  [[nodiscard]] std::size_t find_elsewhere(void** addresses, std::size_t pages, std::uint32_t node);
  [[nodiscard]] bool has_room_for(std::size_t index, std::uint64_t bytes);
  void leave_policy_of_step(const choice& to) const noexcept;
  void refuse(int reason) noexcept;
  void fill_in_totals();

  [[nodiscard]] const spill_memory& what(std::size_t index) const noexcept { return by_.memories_[index].what; }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_ - at_; }
  // Returns the bytes up to the next multiple of a chunk's size.
  [[nodiscard]] std::size_t chunk_from_here(std::size_t size) const noexcept {
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(address_ + at_) % size;
    return std::min(size - beyond, left());
  }

  const placer& by_;
  std::byte* const address_;
  const std::size_t bytes_;
  huge_page_maker* const huge_;  // null: none
  promise_map* const notes_;     // null: pages are made
  const when_full policy_;
  bool moves_ = false;  // the pages exist already
  bool plans_ = false;  // memories are being chosen and nothing has moved: readings do not show choices
  bool has_settled_ = false;
  int read_error_ = 0;  // errno of the last node that could not be read
  std::size_t at_ = 0;
  promise_map* own_ = nullptr;       // the promises of the moving pages
  std::vector<held_bytes> held_;     // budget bytes of the moving pages that were not taken again
  std::vector<reading> readings_;    // of nodes_
  std::vector<std::uint64_t> room_;  // of memories_: last computed room
  std::vector<gate> gates_;          // of memories_
  bool is_kernels_ = false;          // promised pages come by the kernel's policy
  bool is_beyond_ = false;           // the last memory takes pages that no memory has room for
  bool can_prefer_ = true;
  bool can_populate_ = true;
  placement_report report_;
};

placer::placement::placement(const placer& by, std::byte* address, std::size_t bytes, huge_page_maker* huge,
                             promise_map* notes, when_full policy)
    : by_{by},
      address_{address},
      bytes_{bytes},
      huge_{huge},
      notes_{notes},
      policy_{policy},
      readings_(by.nodes_.size()),
      room_(by.memories_.size()),
      gates_(by.memories_.size(), gate::open) {
  report_.asked_bytes = bytes;
  report_.memories.reserve(by.memories_.size());
  for (const memory& each : by.memories_) report_.memories.push_back({.memory = each.what});
  for (const node& each : by.nodes_) report_.is_possible = report_.is_possible && each.is_told;
}

placement_report placer::placement::run() {
  if (!by_.kernel_nodes_.empty() && notes_ == nullptr && is_nothing_promised()) leave_to_kernel();
  is_kernels_ = notes_ != nullptr && by_.kernel_policy_ != 0 &&
                by_.calls_.bind_ordered(address_, bytes_, by_.kernel_policy_, false) == 0;
  while (left() != 0) {
    std::optional<choice> next;
    if (!is_beyond_) next = choose();
    if (!next) next = choose_beyond();
    if (!next || !put(*next)) break;
  }
  fill_in_totals();
  return std::move(report_);
}

// The kernel's policy does not consider promises (invariant 8). This does not check which of them exist by now: each
// placement would have to look at all of them, and without the policy the pages go to the same memories.
bool placer::placement::is_nothing_promised() const noexcept {
  for (std::size_t i = 0; i < by_.nodes_.size(); ++i)
    if (promised_now(i) != 0) return false;
  return true;
}

// Lets the kernel place as long as it follows this ordering and has room. A huge page does not follow the policy
// (MADV_COLLAPSE takes it from the node of the small ones): it is made if there is room for many, as below.
void placer::placement::leave_to_kernel() {
  const kernel_placement done =
      place_by_kernel(address_, bytes_, by_.kernel_nodes_, by_.memories_.front().what.fill, by_.calls_,
                      [this](std::byte* chunk, std::size_t bytes) {
                        if (huge_ == nullptr || bytes != huge_page_bytes) return;
                        reopen();  // the readings do not include the chunks since
                        if (const std::optional<choice> next = find_room(); next && next->bytes == huge_page_bytes)
                          huge_->make(chunk);
                      });
  at_ = done.bytes;
  report_.placed_bytes = report_.by_kernel_bytes = done.bytes;
  report_.is_checked = report_.is_checked && done.is_told;
  for (std::size_t i = 0; i < by_.memories_.size(); ++i) {
    const std::uint32_t node = what(i).node;
    if (node >= done.node_bytes.size()) continue;
    report_.memories[i].placed_bytes = done.node_bytes[node];
    readings_[by_.memories_[i].node].placed_since += done.node_bytes[node];
  }
}

// --- choosing ---

// Before the call reports no room, it reads all memories once more: other processes may have freed memory.
std::optional<placer::placement::choice> placer::placement::choose() {
  for (bool is_second_look = false;;) {
    std::optional<choice> found = find_room();
    if (!found) {
      if (is_second_look) return std::nullopt;
      is_second_look = true;
      reopen();
      continue;
    }
    if (take(*found)) return found;
  }
}

// Reserves the bytes in the budget, or in the node's sum of promises. Returns false if others were quicker.
bool placer::placement::take(choice& to) {
  const spill_memory& memory = what(to.memory);
  to.reserved = to.bytes;
  if (memory.budget == nullptr) return reserve_promise(to);
  std::uint64_t* const held = held_of(memory.budget);
  const std::uint64_t own = held == nullptr ? 0 : std::min<std::uint64_t>(*held, to.bytes);
  to.reserved -= own;
  if (to.reserved != 0 && !reserve(*memory.budget, memory.fill, to.reserved)) return false;
  if (held != nullptr) *held -= own;
  return true;
}

std::uint64_t* placer::placement::held_of(const byte_budget* budget) noexcept {
  for (held_bytes& each : held_)
    if (each.budget == budget) return &each.bytes;
  return nullptr;
}

// Chooses the last memory, until it has nothing left. On nullopt the report has the reason.
std::optional<placer::placement::choice> placer::placement::choose_beyond() {
  std::optional<choice> last = last_allowed();
  if (!last) {
    refuse(EINVAL);
    return std::nullopt;
  }
  report_.outcome = placement_outcome::no_room;
  if (policy_ == when_full::error && read_error_ != 0) refuse(read_error_);
  if (policy_ == when_full::error) return std::nullopt;
  is_beyond_ = true;
  if (byte_budget* const budget = what(last->memory).budget) {
    std::uint64_t* const held = held_of(budget);
    const std::uint64_t own = held == nullptr ? 0 : std::min<std::uint64_t>(*held, last->bytes);
    if (held != nullptr) *held -= own;
    last->reserved = last->bytes - own;
    budget->used.fetch_add(last->reserved, std::memory_order_relaxed);
  } else {
    last->reserved = last->bytes;
    gates_[last->memory] = gate::open;
    const std::uint64_t now = room(last->memory, chunk_from_here(by_.fine_chunk_));
    if (now < coarse_room) last->bytes = chunk_from_here(by_.fine_chunk_);
    if (now + bytes_here_on(what(last->memory).node, last->bytes) < last->bytes || !reserve_promise(*last))
      return std::nullopt;
  }
  report_.outcome = placement_outcome::placed;
  return last;
}

std::optional<placer::placement::choice> placer::placement::find_room() {
  const std::size_t least = chunk_from_here(by_.fine_chunk_);
  for (std::size_t s = 0; s < by_.steps_.size(); ++s) {
    const step& here = by_.steps_[s];
    std::uint64_t weights = 0;
    for (std::size_t i = here.begin; i < here.end; ++i) {
      room_[i] = room(i, least);
      if (room_[i] < coarse_room && what(i).budget == nullptr) room_[i] += bytes_here_on(what(i).node, least);
      if (room_[i] >= least) weights += what(i).weight;
    }
    if (weights == 0) continue;
    std::uint64_t turn = reinterpret_cast<std::uintptr_t>(address_ + at_) / coarse_chunk % weights;
    for (std::size_t i = here.begin; i < here.end; ++i) {
      if (room_[i] < least) continue;
      if (turn < what(i).weight)
        return choice{i, s, chunk_from_here(room_[i] >= coarse_room ? coarse_chunk : by_.fine_chunk_)};
      turn -= what(i).weight;
    }
  }
  return std::nullopt;
}

std::optional<placer::placement::choice> placer::placement::last_allowed() const noexcept {
  for (std::size_t s = by_.steps_.size(); s-- != 0;)
    for (std::size_t i = by_.steps_[s].end; i-- != by_.steps_[s].begin;)
      if (report_.memories[i].is_allowed) return choice{i, s, chunk_from_here(coarse_chunk)};
  return std::nullopt;
}

// Returns the bytes that the memory takes up to its threshold, 0 if they are less than `least`.
std::uint64_t placer::placement::room(std::size_t index, std::size_t least) {
  const memory& from = by_.memories_[index];
  if (!report_.memories[index].is_allowed || gates_[index] != gate::open) return 0;
  if (from.what.budget != nullptr)
    return difference(part_of(from.what.budget->bytes.load(std::memory_order_relaxed), from.what.fill),
                      from.what.budget->used.load(std::memory_order_relaxed)) +
           held_by(from.what.budget);
  if (!by_.nodes_[from.node].is_told) return no_known_limit;
  std::uint64_t now = room_of_node(index);
  if (now < coarse_room && promised_now(from.node) != 0 && !has_settled_) {
    has_settled_ = true;
    by_.promised_->settle(by_.calls_.residence);  // before the reading: pages touched in between count twice, not never
    readings_[from.node].is_there = false;
    now = room_of_node(index);
  }
  if (now < least) gates_[index] = gate::full;
  return now;
}

// Returns the room of a node by a reading that is still valid.
std::uint64_t placer::placement::room_of_node(std::size_t index) {
  const std::size_t node = by_.memories_[index].node;
  const reading& last = readings_[node];
  if (!last.is_there || is_old(last, shown_room(index))) read(node);
  const std::uint64_t promised = std::max(last.promised_bytes, promised_now(node));
  return difference(shown_room(index), last.placed_since + difference(promised, last.own_bytes));
}

std::uint64_t placer::placement::promised_now(std::size_t node_index) const noexcept {
  if (by_.promised_ == nullptr) return 0;
  return by_.promised_->sums().bytes[by_.nodes_[node_index].number].load(std::memory_order_relaxed);
}

// Adds the bytes of pages to the node's sum before they are promised, and never beyond its room, since others promise,
// too.
bool placer::placement::reserve_promise(const choice& to) noexcept {
  if (notes_ == nullptr) return true;
  const std::size_t node = by_.memories_[to.memory].node;
  reading& last = readings_[node];
  const std::uint64_t most =
      by_.nodes_[node].is_told ? difference(shown_room(to.memory), last.placed_since) : no_known_limit;
  std::atomic<std::uint64_t>& sum = by_.promised_->sums().bytes[by_.nodes_[node].number];
  std::uint64_t before = sum.load(std::memory_order_relaxed);
  do {
    if (std::max(before, last.promised_bytes) + to.bytes > most) return false;
  } while (!sum.compare_exchange_weak(before, before + to.bytes, std::memory_order_relaxed));
  last.promised_since += to.bytes;
  return true;
}

void placer::placement::withdraw(const choice& to) noexcept {
  if (byte_budget* const budget = what(to.memory).budget) {
    budget->used.fetch_sub(to.reserved, std::memory_order_relaxed);
  } else if (notes_ != nullptr) {
    by_.promised_->sums().bytes[what(to.memory).node].fetch_sub(to.reserved, std::memory_order_relaxed);
  }
}

// Returns whether the next chunk exceeds the use of a reading (invariant 3).
bool placer::placement::is_old(const reading& last, std::uint64_t shown) const noexcept {
  if (plans_) return false;
  const std::uint64_t since = last.placed_since + last.promised_since;
  const std::uint64_t next = difference(shown, since) >= coarse_room ? coarse_chunk : by_.fine_chunk_;
  return since != 0 && since + next > std::min(shown / paced_placers, most_unread);
}

// Returns the room at the last reading.
std::uint64_t placer::placement::shown_room(std::size_t index) const noexcept {
  const reading& last = readings_[by_.memories_[index].node];
  const std::uint64_t kept_free = by_.nodes_[by_.memories_[index].node].kept_free;
  return difference(limit_of(last.total_bytes, is_beyond_ ? 1.0 : what(index).fill, kept_free), last.used_bytes);
}

// Reads a node. A node that has disappeared is full. A node that could not be read counts as full, too, but the error
// is kept (read_error_).
void placer::placement::read(std::size_t node_index) {
  ++report_.meminfo_reads;
  errno = 0;
  reading now{.is_there = true,
              .placed_since = plans_ ? readings_[node_index].placed_since : 0,
              .promised_bytes = promised_now(node_index)};
  // Read after the sum: bytes that others settle in between do not count as room yet, rather than twice.
  if (own_ != nullptr) now.own_bytes = own_->promised_bytes(address_, bytes_, by_.nodes_[node_index].number);
  if (const std::optional<memory_use> use = use_of_node(by_.nodes_[node_index].number, by_.calls_)) {
    now.total_bytes = use->total_bytes;
    now.used_bytes = use->used_bytes;
  } else if (errno != ENOENT) {
    read_error_ = errno != 0 ? errno : EIO;
  }
  readings_[node_index] = now;
}

void placer::placement::reopen() noexcept {
  for (reading& each : readings_) each.is_there = false;
  std::replace(gates_.begin(), gates_.end(), gate::full, gate::open);
}

// --- placing ---

// Places a chunk. Returns false if the call must end. pre: the chunk's bytes are in its budget, or in its node's sum.
bool placer::placement::put(const choice& to) {
  const binding bound = prefer(to);
  if (bound == binding::done && realize(to)) {
    at_ += to.bytes;
    return true;
  }
  withdraw(to);
  if (bound == binding::not_allowed) report_.memories[to.memory].is_allowed = false;
  return bound == binding::not_allowed;
}

// Makes the chunk's pages, or records their promise.
bool placer::placement::realize(const choice& to) {
  if (notes_ != nullptr) {
    if (what(to.memory).budget == nullptr) notes_->note(address_ + at_, to.bytes, what(to.memory).node);
    count(to);
    return true;
  }
  if (!make_pages(to.bytes)) return false;
  count(to);
  correct(to);
  leave_policy_of_step(to);
  return true;
}

placer::placement::binding placer::placement::prefer(const choice& to) {
  if (!can_prefer_ || (is_kernels_ && !is_beyond_)) return binding::done;
  if (by_.calls_.prefer(address_ + at_, to.bytes, what(to.memory).node) == 0) return binding::done;
  if (errno == EINVAL) return binding::not_allowed;
  if (by_.is_node_0_only_ && (errno == ENOSYS || errno == EPERM)) {
    can_prefer_ = false;
    report_.is_possible = false;
    report_.is_checked = false;
    return binding::done;
  }
  refuse(errno);
  return binding::refused;
}

bool placer::placement::make_pages(std::size_t bytes) {
  // pages that it does not make are made below
  if (huge_ != nullptr && bytes == huge_page_bytes) huge_->make(address_ + at_);
  while (can_populate_) {
    if (by_.calls_.advise(address_ + at_, bytes, MADV_POPULATE_WRITE) == 0) return true;
    if (errno == EINTR) continue;
    const int reason = errno;
    // EINVAL means an old kernel, which rejects an empty range, too; or a range that may not be written.
    can_populate_ = reason != EINVAL || by_.calls_.advise(address_ + at_, 0, MADV_POPULATE_WRITE) == 0;
    if (can_populate_) {
      refuse(reason);
      return false;
    }
  }
  by_.calls_.touch(address_ + at_, bytes);
  return true;
}

void placer::placement::count(const choice& to) {
  report_.placed_bytes += to.bytes;
  report_.memories[to.memory].placed_bytes += to.bytes;
  if (is_beyond_)
    report_.beyond_bytes += to.bytes;
  else if (is_kernels_)
    report_.by_kernel_bytes += to.bytes;
  if (what(to.memory).budget == nullptr && notes_ == nullptr)
    readings_[by_.memories_[to.memory].node].placed_since +=
        moves_ ? to.bytes - bytes_here_on(what(to.memory).node, to.bytes) : to.bytes;
}

void placer::placement::correct(const choice& to) {
  if (!report_.is_checked) return;
  const std::uint32_t node = what(to.memory).node;
  const std::size_t pages = to.bytes / page_bytes;
  std::array<void*, most_pages> addresses;
  const std::size_t looks = std::min(pages_asked, pages);
  for (std::size_t i = 0; i < looks; ++i)
    addresses[i] = address_ + at_ + (looks == 1 ? 0 : i * (pages - 1) / (looks - 1)) * page_bytes;
  if (find_elsewhere(addresses.data(), looks, node) == 0) return;

  for (std::size_t i = 0; i < pages; ++i) addresses[i] = address_ + at_ + i * page_bytes;
  const std::size_t astray = find_elsewhere(addresses.data(), pages, node);
  const std::size_t remain = astray == 0 ? 0 : take_home(to, addresses.data(), astray);
  report_.corrected_pages += astray - remain;
  report_.memories[to.memory].elsewhere_bytes += remain * page_bytes;
}

// Moves pages of a chunk to its memory, if that has room. Returns the number that remain elsewhere; their addresses
// come first then.
std::size_t placer::placement::take_home(const choice& to, void** astray, std::size_t pages) {
  const std::uint32_t node = what(to.memory).node;
  if (!has_room_for(to.memory, pages * page_bytes)) return pages;
  std::array<int, most_pages> nodes;
  std::array<int, most_pages> status;
  nodes.fill(static_cast<int>(node));
  // The status is not used to count them: for a page of a huge one that has been moved with another page, it is an
  // error.
  by_.calls_.move(pages, astray, nodes.data(), status.data());
  const bool is_held = std::any_of(status.begin(), status.begin() + static_cast<std::ptrdiff_t>(pages),
                                   [](int each) { return each == -EACCES; });
  const std::size_t remain = find_elsewhere(astray, pages, node);
  if (remain != 0 && is_held) report_.is_held = true;
  if (remain != 0 && !is_held) gates_[to.memory] = gate::dry;  // it withholds memory that it shows as free
  return remain;
}

std::size_t placer::placement::find_elsewhere(void** addresses, std::size_t pages, std::uint32_t node) {
  std::array<int, most_pages> status;
  if (by_.calls_.move(pages, addresses, nullptr, status.data()) != 0) {
    report_.is_checked = false;
    return 0;
  }
  std::size_t found = 0;
  for (std::size_t i = 0; i < pages; ++i)
    if (status[i] >= 0 && status[i] != static_cast<int>(node)) addresses[found++] = addresses[i];
  return found;
}

// Returns whether a memory has room now, by a new reading. Bytes reserved in a budget have room.
bool placer::placement::has_room_for(std::size_t index, std::uint64_t bytes) {
  const memory& from = by_.memories_[index];
  if (from.what.budget != nullptr || !by_.nodes_[from.node].is_told) return true;
  read(from.node);
  if (shown_room(index) < bytes) return false;
  readings_[from.node].placed_since += bytes;
  return true;
}

// The chunk's pages exist and stay on their nodes: only invariant 7 needs a policy now. A refusal costs one mapping.
void placer::placement::leave_policy_of_step(const choice& to) const noexcept {
  const std::uint32_t node = what(by_.steps_[to.step].begin).node;
  if (can_prefer_ && node != what(to.memory).node) by_.calls_.prefer(address_ + at_, to.bytes, node);
}

// --- moving ---

placement_report placer::placement::run_move(std::vector<held_bytes> held, promise_map* own) {
  held_ = std::move(held);
  own_ = own;
  moves_ = plans_ = true;
  std::vector<choice> plan;
  while (left() != 0) {
    std::optional<choice> next;
    if (!is_beyond_) next = choose();
    if (!next) next = choose_beyond();
    if (!next) {
      give_plan_up(plan);
      return std::move(report_);
    }
    count(*next);
    plan.push_back(*next);
    at_ += next->bytes;
  }
  for (const held_bytes& each : held_) each.budget->used.fetch_sub(each.bytes, std::memory_order_relaxed);
  if (own_ != nullptr) own_->withdraw(address_, bytes_);
  plans_ = false;
  at_ = 0;
  for (const choice& to : plan) {
    move_chunk(to);
    at_ += to.bytes;
  }
  fill_in_totals();
  return std::move(report_);
}

// Withdraws a plan. The report then shows the contents of the memories without the choices.
void placer::placement::give_plan_up(const std::vector<choice>& plan) noexcept {
  for (const choice& to : plan) withdraw(to);
  for (reading& each : readings_) each.placed_since = 0;
  for (memory_fill& row : report_.memories) row.placed_bytes = 0;
  report_.placed_bytes = report_.beyond_bytes = 0;
  fill_in_totals();
}

void placer::placement::move_chunk(const choice& to) {
  memory_fill& row = report_.memories[to.memory];
  const binding bound = prefer(to);
  if (bound != binding::done) {
    row.is_allowed = bound != binding::not_allowed;
    row.elsewhere_bytes += to.bytes;
    return;
  }
  if (!report_.is_checked) return;
  std::array<void*, most_pages> addresses;
  for (std::size_t i = 0; i < to.bytes / page_bytes; ++i) addresses[i] = address_ + at_ + i * page_bytes;
  const std::size_t astray = find_elsewhere(addresses.data(), to.bytes / page_bytes, what(to.memory).node);
  const std::size_t remain = astray == 0 ? 0 : take_home(to, addresses.data(), astray);
  report_.corrected_pages += astray - remain;
  row.elsewhere_bytes += remain * page_bytes;
}

// Returns how many of the next bytes are on a node. 0 if pages are made: none exists yet.
std::uint64_t placer::placement::bytes_here_on(std::uint32_t node, std::size_t bytes) const {
  if (!moves_) return 0;
  const page_locations found = locate_pages(address_ + at_, bytes, by_.calls_);
  return node < found.node_bytes.size() ? found.node_bytes[node] : 0;
}

void placer::placement::refuse(int reason) noexcept {
  report_.outcome = placement_outcome::refused;
  report_.error = reason;
}

void placer::placement::fill_in_totals() {
  for (std::size_t i = 0; i < report_.memories.size(); ++i) {
    memory_fill& row = report_.memories[i];
    if (const byte_budget* const budget = row.memory.budget) {
      row.total_bytes = budget->bytes.load(std::memory_order_relaxed);
      row.used_bytes = budget->used.load(std::memory_order_relaxed);
    } else if (const reading& last = readings_[by_.memories_[i].node]; last.is_there) {
      row.total_bytes = last.total_bytes;
      row.used_bytes = last.used_bytes + last.placed_since + promised_now(by_.memories_[i].node);
    }
  }
}

placement_report placer::place(void* address, std::size_t bytes, huge_page_maker* huge) const {
  SITU_ASSERT(1, (reinterpret_cast<std::uintptr_t>(address) | bytes) % page_bytes == 0, "place whole pages");
  return placement{*this, static_cast<std::byte*>(address), bytes, huge, nullptr, policy_}.run();
}

placement_report placer::promise(void* address, std::size_t bytes, promise_map& notes, when_full policy) const {
  SITU_ASSERT(1, (reinterpret_cast<std::uintptr_t>(address) | bytes) % page_bytes == 0, "promise whole pages");
  SITU_ASSERT(1, promised_ != nullptr, "this placer was made without promises");
  return placement{*this, static_cast<std::byte*>(address), bytes, nullptr, &notes, policy}.run();
}

placement_report placer::move(void* address, std::size_t bytes, std::vector<held_bytes> held,
                              promise_map* notes) const {
  SITU_ASSERT(1, (reinterpret_cast<std::uintptr_t>(address) | bytes) % page_bytes == 0, "move whole pages");
  map_existing(address, bytes);
  return placement{*this, static_cast<std::byte*>(address), bytes, nullptr, nullptr, policy_}.run_move(std::move(held),
                                                                                                       notes);
}

}  // namespace situ::detail
