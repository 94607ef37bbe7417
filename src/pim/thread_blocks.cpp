#include "pim/thread_blocks.h"

#include <algorithm>
#include <utility>

#include "os/host.h"

namespace situ::pim::detail {
namespace {

std::atomic<std::uint64_t> devices_made{0};

// Set once a thread's memory of its devices is gone: destructors that run later free into the banks.
constinit thread_local bool has_thread_ended = false;

}  // namespace

// --- one thread's blocks ---

thread_blocks::thread_blocks(banks& of, std::uint32_t number) noexcept
    : table_{of.table()},
      of_{of},
      home_{number % of.shape().banks},
      most_granules_{
          static_cast<std::uint32_t>(std::max<std::uint64_t>(of.shape().granules() / 128, of.shape().rows))} {}

bool thread_blocks::keep_slowly(granule at, extent of) {
  bool is_kept = false;
  if (enter()) {
    slot& to = slot_of(of);
    is_kept = make_room(to, of);
    if (is_kept) add(to, at);
    to.misses = 0;
  }
  leave();
  return is_kept;
}

// Makes an empty slot one of this extent. A slot has room for half of what the thread may keep, but for one block at
// least. The room of slots is counted, not their blocks, so that keep() and take() need not count. Returns
// false if the other slots leave too little.
bool thread_blocks::assign(slot& to, extent of) {
  const std::uint32_t size = subarrays_of(of) * rows_of(of);
  const std::uint32_t room = std::clamp(most_granules_ / 2 / size, 1u, most_kept);
  const std::uint32_t others = roomy_granules_ - to.room * subarrays_of(to.of) * rows_of(to.of);
  if (others + room * size > most_granules_) return false;
  to.of = of;
  to.room = room;
  to.misses = 0;
  roomy_granules_ = others + room * size;
  return true;
}

// Gives blocks back so that one of this extent can be kept. Returns false if so large a block is not kept at all.
bool thread_blocks::make_room(slot& in, extent of) {
  if (in.of == of) {
    if (in.count == in.room) give_back(in, in.room / 2);
    return true;
  }
  if (subarrays_of(of) * rows_of(of) > most_granules_) return false;
  give_back(in, 0);
  if (assign(in, of)) return true;
  for (slot& each : slots_) {
    give_back(each, 0);
    each = {};
  }
  roomy_granules_ = 0;
  return assign(in, of);
}

granule thread_blocks::take_several(extent wanted) {
  granule at = no_granule;
  if (enter()) {
    slot& in = slot_of(wanted);
    const std::uint32_t rows = rows_of(wanted);
    if (const std::uint32_t count = several(in, wanted); count > 1) {
      at = of_.allocate(extent_of(subarrays_of(wanted), rows * count), home_);
      if (at != no_granule) {
        table_.set_live(at, wanted);
        for (std::uint32_t i = count - 1; i > 0; --i) add(in, at + i * rows);
      } else {
        in.misses = 0;  // no room for so many: not with each miss again
      }
    }
  }
  leave();
  return at;
}

// Returns how many blocks to take at once: as many as there is room for, in 64 rows. For a block of one subarray it
// takes only one: such blocks fill the shortest runs, and several would take the longest.
std::uint32_t thread_blocks::several(slot& in, extent wanted) {
  constexpr std::uint32_t enough_misses = 3;
  if (subarrays_of(wanted) == 1) return 1;
  if (in.of != wanted && (in.count > 0 || !assign(in, wanted))) return 1;
  if (in.count > 0 || ++in.misses < enough_misses) return 1;
  return std::min(in.room, std::min(64u, of_.shape().rows) / rows_of(wanted));
}

// Gives the blocks back that are kept longest, until so many are left.
void thread_blocks::give_back(slot& from, std::uint32_t left) {
  const std::uint32_t gone = from.count - std::min(from.count, left);
  for (std::uint32_t i = 0; i < gone; ++i) of_.release(from.blocks[i]);
  std::copy(from.blocks.begin() + gone, from.blocks.begin() + from.count, from.blocks.begin());
  from.count -= gone;
}

void thread_blocks::give_back_all() {
  for (slot& each : slots_) give_back(each, 0);
}

// --- what a thread knows of its devices ---

class thread_memory {
 public:
  thread_memory() = default;
  thread_memory(const thread_memory&) = delete;
  thread_memory& operator=(const thread_memory&) = delete;
  ~thread_memory() {
    has_thread_ended = true;
    last_used_blocks = {};
    for (known& each : known_) each.device->leave(each.blocks);
  }

  thread_blocks* blocks_of(thread_registry& device) {
    for (const known& each : known_)
      if (each.device.get() == &device) return each.blocks.get();
    std::erase_if(known_, [](const known& each) { return each.device->is_closed(); });
    known_.push_back({device.shared_from_this(), nullptr});
    try {
      known_.back().blocks = device.join();
    } catch (...) {
      known_.pop_back();
      throw;
    }
    return known_.back().blocks.get();
  }

 private:
  struct known {
    std::shared_ptr<thread_registry> device;
    std::shared_ptr<thread_blocks> blocks;
  };
  std::vector<known> known_;
};

// --- the threads of a device ---

thread_registry::thread_registry(banks& of, bool keeps_blocks)
    : id_{devices_made.fetch_add(1, std::memory_order_relaxed) + 1}, of_{of}, keeps_blocks_{keeps_blocks} {}

thread_blocks* thread_registry::own() {
  if (thread_blocks* const recent = recent_blocks(id_)) return recent;
  if (has_thread_ended) return nullptr;
  static thread_local thread_memory memory;
  thread_blocks* const blocks = memory.blocks_of(*this);
  last_used_blocks[id_ % last_used_count] = {id_, blocks};
  return blocks;
}

std::shared_ptr<thread_blocks> thread_registry::join() {
  const std::lock_guard lock{mutex_};
  threads_.push_back(std::make_shared<thread_blocks>(of_, joined_));
  ++joined_;
  return threads_.back();
}

void thread_registry::leave(const std::shared_ptr<thread_blocks>& blocks) {
  const std::lock_guard lock{mutex_};
  if (is_closed()) return;
  blocks->give_back_all();
  std::erase(threads_, blocks);
}

void thread_registry::close() noexcept {
  const std::lock_guard lock{mutex_};
  is_closed_.store(true, std::memory_order_release);
  threads_.clear();
}

thread_registry::stopped_threads::stopped_threads(thread_registry& of) : of_{of} {
  if (!of.keeps_blocks_) return;
  // The caller's own blocks need no order: it is outside.
  const thread_blocks* const own = recent_blocks(of.id_);
  const bool has_others = std::any_of(of.threads_.begin(), of.threads_.end(),
                                      [&](const std::shared_ptr<thread_blocks>& each) { return each.get() != own; });
  // Relaxed: the system call orders it, and for the caller itself there is nothing to order.
  for (const auto& each : of.threads_) each->wanted_.store(true, std::memory_order_relaxed);
  if (has_others) situ::detail::order_all_threads();
  for (const auto& each : of.threads_) {
    while (each->busy_.load(std::memory_order_acquire)) situ::detail::give_way();
    each->give_back_all();
  }
}

thread_registry::stopped_threads::~stopped_threads() {
  for (const auto& each : of_.threads_) each->wanted_.store(false, std::memory_order_release);
}

}  // namespace situ::pim::detail
