#include "pool/sharing.h"

#include <situ/base/detail/assert.h>
#include <situ/base/log.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "os/host.h"
#include "pool/pool_file.h"

namespace situ::detail {
namespace {

constexpr std::uint32_t sleepers_bit = pool_sleepers_bit;
constexpr std::uint32_t torn_bit = pool_torn_bit;
constexpr std::uint32_t flag_bits = pool_flag_bits;
constexpr unsigned slot_shift = 2;
constexpr unsigned claim_shift = 9;
static_assert(pool_slot_count <= 1u << (claim_shift - slot_shift));

// Some thousand cycles, after which a transaction of a few objects is over.
constexpr unsigned most_looks = 40;
constexpr std::int64_t sleep_ns = 1'000'000;
constexpr std::uint64_t impatient_after_ns = 500'000;
constexpr std::uint64_t pass_ns = 2'000'000;
constexpr std::uint64_t tell_after_ns = 1'000'000'000;
constexpr std::int64_t stand_back_ns = 50'000;

std::atomic<std::uint32_t> threads_that_read{0};

void look_away() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

constexpr std::uint32_t token_of(std::uint32_t word) noexcept { return word & ~flag_bits; }
constexpr std::uint32_t slot_of(std::uint32_t token) noexcept {
  return token >> slot_shift & ((1u << (claim_shift - slot_shift)) - 1);
}
constexpr std::uint32_t token_of_state(std::uint64_t state) noexcept { return static_cast<std::uint32_t>(state >> 32); }
constexpr std::uint32_t readers_of(std::uint64_t state) noexcept { return static_cast<std::uint32_t>(state); }

// --- processes ---

std::string name_of(std::uint64_t process) {
  std::string name;
  std::ifstream file{fmt::format("/proc/{}/comm", process)};
  std::getline(file, name);
  return name.empty() ? fmt::format("process {}", process) : fmt::format("process {} ({})", process, name);
}

// Frees a slot, unless another opener has it by now.
void forget_slot(pool_slot& slot, std::uint32_t token) noexcept {
  for (std::uint64_t state = slot.state.load(); token_of_state(state) == token;)
    if (slot.state.compare_exchange_weak(state, 0)) return;
}

// The area of pools in a child of their process: it always has a writer, so a thread that waits for the pool gets the
// reason.
pool_area area_of_children;

}  // namespace

void leave_sections_in_child() noexcept {
  for (pool_section* each = pool_thread.sections; each != nullptr; each = each->outer) each->of = nullptr;
  pool_thread.sections = nullptr;
  pool_thread.locked = 0;
}

pool_sharing::pool_sharing(pool_area* area, const pool_openers& openers, std::string path, std::uint64_t patience_ns)
    : own_area_{area == nullptr ? std::make_unique<pool_area>() : nullptr},
      area_{area == nullptr ? own_area_.get() : area},
      openers_{openers},
      path_{std::move(path)},
      patience_ns_{patience_ns},
      process_{::getpid()},
      identity_{own_area_ == nullptr ? own_identity() : process_identity{}} {}

pool_sharing::~pool_sharing() {
  // A child of the process has neither the mapping nor a slot.
  if (own_area_ != nullptr || slot_ == nullptr || ::getpid() != process_) return;
  for (std::uint32_t i = 0; i < pool_slot_count; ++i)
    if (is_own(area_->slots[i])) forget_slot(area_->slots[i], token_);
  if (!openers_.pass_gate(0)) return;
  if (openers_.is_last()) std::memset(static_cast<void*>(area_), 0, sizeof *area_);
  openers_.leave_area();
  openers_.leave_gate();
}

// --- coming in ---

void pool_sharing::enter(bool is_first, bool is_torn, std::uint32_t chunks) {
  if (is_first) {
    if (own_area_ == nullptr) std::memset(static_cast<void*>(area_), 0, sizeof *area_);
    area_->chunks.store(chunks);
    // Starts at a varying number, since an opener that has lost its locks may still have a token from before the area
    // was set up again.
    area_->claims.store(static_cast<std::uint32_t>(steady_ns() / 64));
    area_->word.store(is_torn ? torn_bit : 0);
  }
  if (own_area_ != nullptr) {
    slot_ = &area_->slots[0];
    token_ = 1u << claim_shift;
    area_->slots_used.store(1);
  } else {
    claim();
  }
  own_state_ = std::uint64_t{token_} << 32;
  slot_->state.store(own_state_);
}

// Takes a slot if the kernel grants its lock, or if no other process shares the area.
bool pool_sharing::take_slot(std::uint32_t number) noexcept {
  pool_slot& slot = area_->slots[number];
  if (is_own(slot) || (own_area_ == nullptr && !openers_.take_slot(number))) return false;
  slot.process.store(identity_.number);
  slot.begun.store(identity_.begun);
  slot.spaces.store(identity_.spaces);
  std::uint32_t used = area_->slots_used.load();
  while (used <= number && !area_->slots_used.compare_exchange_weak(used, number + 1)) {}
  return true;
}

bool pool_sharing::is_own(const pool_slot& slot) const noexcept {
  if (&slot == slot_) return true;
  for (const auto& each : lanes_)
    if (each.load(std::memory_order_relaxed) == &slot) return true;
  return false;
}

// The first thread that reads gets the process's first slot; if no other slot is free, all threads share it.
pool_slot* pool_sharing::claim_lane(pool_thread_state& thread) {
  if (is_lost()) throw_lost();
  if (thread.lane == most_pool_lanes) thread.lane = threads_that_read.fetch_add(1) % most_pool_lanes;
  const std::lock_guard guard{claiming_};
  std::atomic<pool_slot*>& lane = lanes_[thread.lane];
  if (pool_slot* const there = lane.load()) return there;
  bool is_first = true;
  for (const auto& each : lanes_) is_first = is_first && each.load() == nullptr;
  for (std::uint32_t i = 0; !is_first && i < pool_lane_slots; ++i) {
    if (!take_slot(i)) continue;
    area_->slots[i].state.store(own_state_);
    lane.store(&area_->slots[i]);
    own_slots_.fetch_add(1);
    return lane.load();
  }
  lane.store(slot_);
  return slot_;
}

void pool_sharing::claim() {
  for (std::uint32_t i = 0; i < pool_slot_count; ++i) {
    if (!take_slot(i)) continue;
    constexpr std::uint32_t most_claims = (1u << (32 - claim_shift)) - 1;
    token_ = (area_->claims.fetch_add(1) % most_claims + 1) << claim_shift | i << slot_shift;
    slot_ = &area_->slots[i];
    return;
  }
  throw_refused(path_,
                fmt::format("is in use by so many processes, and threads of them, that all its {} slots are taken; "
                            "close it in some of them",
                            pool_slot_count));
}

// --- who lives ---

bool pool_sharing::lives(std::uint32_t number, std::uint32_t token) const noexcept {
  if (token == token_) return true;
  const pool_slot& slot = area_->slots[number];
  if (token_of_state(slot.state.load()) != token) return false;  // a later opener has its slot
  if (!openers_.has_slot(number)) return false;
  // The lock may be held by a child that the opener has left behind, because children inherit open files.
  return !has_ended({slot.process.load(), slot.begun.load(), slot.spaces.load()});
}

bool pool_sharing::has_died(std::uint32_t word) const noexcept {
  const std::uint32_t token = token_of(word);
  return token != 0 && !lives(slot_of(token), token);
}

std::string pool_sharing::who_writes(std::uint32_t word) const {
  const std::uint32_t token = token_of(word);
  if (token == 0) return "others, in turns, have it";
  if (token == token_) return "another thread of this process is in a transaction";
  return fmt::format("{} is in a transaction", name_of(area_->slots[slot_of(token)].process.load()));
}

std::string pool_sharing::who_reads() const {
  std::string who;
  std::vector<std::uint32_t> told;  // a process may have several slots
  for (std::uint32_t i = 0; i < area_->slots_used.load(); ++i) {
    const pool_slot& slot = area_->slots[i];
    const std::uint64_t state = slot.state.load();
    const std::uint32_t token = token_of_state(state);
    if (readers_of(state) == 0 || std::find(told.begin(), told.end(), token) != told.end()) continue;
    told.push_back(token);
    if (!who.empty()) who += " and ";
    who += token == token_ ? "a thread of this process" : name_of(slot.process.load());
  }
  return who.empty() ? "others, in turns, read it" : who + " reads it";
}

void pool_sharing::give_up(std::uint64_t waited_ns, const std::string& who) const {
  throw_refused(path_, fmt::format("is in use: {}, and has been for {:.1f} s; end that transaction or section, or wait "
                                   "longer (pool_opening::patience)",
                                   who, static_cast<double>(waited_ns) / 1e9));
}

// Tells the user why the program waits.
void pool_sharing::tell(const std::string& who) const {
  log(log_level::warning, fmt::format("pool {}: waits for others: {}; gives up after {:.0f} s", path_, who,
                                      static_cast<double>(patience_ns_) / 1e9));
}

// --- a pool that was lost ---

void pool_sharing::lose() noexcept {
  is_lost_.store(true);
  const std::lock_guard guard{claiming_};
  for (auto& each : lanes_) each.store(nullptr);  // so readers go through claim_lane
}

void pool_sharing::note_loss(const char* what) noexcept {
  if (is_lost_.exchange(true)) return;
  lose();
  log(log_level::error,
      fmt::format("pool {}: others took this process for dead and went on while it was in {}, which may have seen or "
                  "left parts of theirs; look at the pool (situ pool check), and open it anew",
                  path_, what));
}

void pool_sharing::throw_lost() {
  if (is_in_child_)
    throw_refused(path_, fmt::format("is open in process {}, and this is a child of it, which has neither its pages "
                                     "nor its locks: open the pool anew in the child",
                                     process_));
  if (!is_lost_.exchange(true)) lose();
  throw_refused(path_,
                "was lost by this process: others took it for dead and went on, because the kernel no longer had its "
                "locks (does the file lie on a file system that loses them?). The transaction is not done; open the "
                "pool anew");
}

void pool_sharing::leave_in_child() noexcept {
  is_in_child_ = true;
  is_lost_.store(true);
  area_of_children.word.store(~flag_bits);  // no opener has this token
  area_ = &area_of_children;
  slot_ = nullptr;
  for (auto& each : lanes_) each.store(nullptr);
  owner_.store(nullptr);
  depth_ = ~std::size_t{0} / 2;  // the child does not end sections that its parent has begun
}

// --- waiting ---

struct pool_sharing::waiting {
  unsigned looks = 0;
  std::uint64_t begun = 0;
  bool is_impatient = false;
  bool has_slept = false;  // then it checks whether the processes it waits for live
  bool has_told = false;   // it has logged which processes it waits for

  [[nodiscard]] bool looks_again() noexcept {
    if (looks >= most_looks) return false;
    ++looks;
    look_away();
    return true;
  }
  [[nodiscard]] std::uint64_t waited_until(std::uint64_t now) noexcept {
    if (begun == 0) begun = now;
    return now - begun;
  }
};

void pool_sharing::wait(waiting& for_it, std::uint32_t word) {
  if (for_it.looks_again()) return;
  const std::uint64_t now = steady_ns();
  const std::uint64_t waited = for_it.waited_until(now);
  if (waited > patience_ns_) give_up(waited, who_writes(word));
  if (waited > tell_after_ns && !std::exchange(for_it.has_told, true)) tell(who_writes(word));
  if (waited > impatient_after_ns) {
    for_it.is_impatient = true;
    area_->let_pass_until.store(now + pass_ns, std::memory_order_relaxed);
  }
  if (token_of(word) == 0) {
    rest(stand_back_ns);
    return;
  }
  if ((word & sleepers_bit) == 0 && !area_->word.compare_exchange_strong(word, word | sleepers_bit)) return;
  wait_on_word(area_->word, word | sleepers_bit, sleep_ns);
  for_it.has_slept = true;
}

// --- to write ---

void pool_sharing::take_slowly() {
  if (is_lost()) throw_lost();
  SITU_ASSERT(1, !is_reading(), "end the read section before the transaction, or read in the transaction");
  waiting for_it;
  for (;;) {
    std::uint32_t word = area_->word.load();
    const bool is_dead = for_it.has_slept && has_died(word);
    std::uint64_t until = area_->let_pass_until.load(std::memory_order_relaxed);
    if (until != 0 && !for_it.is_impatient && steady_ns() > until)
      area_->let_pass_until.compare_exchange_strong(until, 0, std::memory_order_relaxed);
    const bool may_pass = for_it.is_impatient || area_->let_pass_until.load(std::memory_order_relaxed) == 0;
    if ((token_of(word) == 0 && may_pass) || is_dead) {
      const std::uint32_t flags = (word & flag_bits) | (is_dead ? torn_bit : 0);
      if (!area_->word.compare_exchange_strong(word, token_ | flags)) continue;
      is_torn_ = (flags & torn_bit) != 0;
      if (for_it.is_impatient) area_->let_pass_until.store(0, std::memory_order_relaxed);
      return;
    }
    for_it.has_slept = false;
    wait(for_it, word);
  }
}

void pool_sharing::await_readers() {
  waiting for_it;
  for (;;) {
    const std::uint32_t seen = area_->drained.load();
    if (!is_read()) break;
    if (for_it.looks_again()) continue;
    SITU_ASSERT(1, !is_reading(), "end the read section before the transaction, or read in the transaction");
    const std::uint64_t waited = for_it.waited_until(steady_ns());
    if (waited > patience_ns_) {
      const std::string who = who_reads();
      unlock();
      give_up(waited, who);
    }
    if (waited > tell_after_ns && !std::exchange(for_it.has_told, true)) tell(who_reads());
    // A reader that leaves after this store sees it; one that left before is seen by the next look.
    if (area_->awaits_readers.exchange(1) == 0) continue;
    wait_on_word(area_->drained, seen, sleep_ns);
    if (area_->drained.load() == seen) forget_dead_readers();
  }
  area_->awaits_readers.store(0, std::memory_order_relaxed);
}

void pool_sharing::forget_dead_readers() noexcept {
  for (std::uint32_t i = 0; i < area_->slots_used.load(); ++i) {
    std::uint64_t state = area_->slots[i].state.load();
    const std::uint64_t token = state >> 32;
    if (readers_of(state) == 0 || lives(i, token_of_state(state))) continue;
    area_->slots[i].state.compare_exchange_strong(state, token << 32);
  }
}

void pool_sharing::unlock_slowly() noexcept {
  const std::uint32_t next = is_torn_ ? torn_bit : 0;
  is_torn_ = false;
  const std::uint32_t word = area_->word.load(std::memory_order_relaxed);
  if (token_of(word) != token_) return note_loss("a transaction");
  area_->word.store(next, std::memory_order_release);
  if ((word & sleepers_bit) != 0) wake_on_word(area_->word, INT_MAX);
}

// --- to read ---

bool pool_sharing::is_found_torn() const noexcept { return (area_->word.load() & torn_bit) != 0; }

bool pool_sharing::is_reading() const noexcept {
  for (const pool_section* each = pool_thread.sections; each != nullptr; each = each->outer)
    if (each->of == this) return true;
  return false;
}

void pool_sharing::lock_shared(pool_section& within) {
  within.of = nullptr;
  pool_thread_state& thread = pool_thread;
  if (is_locked_by(thread) || (thread.sections != nullptr && is_reading())) return;
  pool_slot* const slot = slot_for(thread);
  slot->state.fetch_add(1);
  if (token_of(area_->word.load()) != 0) [[unlikely]]
    enter_slowly(*slot);
  within.slot = slot;
  within.of = this;
  within.outer = thread.sections;
  thread.sections = &within;
}

void pool_sharing::enter_slowly(pool_slot& slot) {
  leave_slot(slot);
  for (waiting for_it;;) {
    std::uint32_t word = area_->word.load();
    if (token_of(word) == 0) {
      slot.state.fetch_add(1);
      if (token_of(area_->word.load()) == 0) {
        if (for_it.is_impatient) area_->let_pass_until.store(0, std::memory_order_relaxed);
        return;
      }
      leave_slot(slot);
    } else if (for_it.has_slept && has_died(word)) {
      if (area_->word.compare_exchange_strong(word, torn_bit)) wake_on_word(area_->word, INT_MAX);
    } else {
      for_it.has_slept = false;
      wait(for_it, word);
    }
  }
}

void pool_sharing::leave_slot(pool_slot& slot) noexcept {
  const std::uint64_t before = slot.state.fetch_sub(1);
  // The state must have this process's token above, and at least one reader below; otherwise no process counts this
  // reader any more.
  if (((before ^ own_state_) - 1) >> 32 != 0) [[unlikely]] {
    slot.state.fetch_add(1);
    return note_loss("a read section");
  }
  if (token_of(area_->word.load()) == 0 || area_->awaits_readers.load() == 0) return;
  area_->drained.fetch_add(1);
  wake_on_word(area_->drained, INT_MAX);
}

void pool_sharing::unlock_shared(pool_section& within) noexcept {
  if (within.of == nullptr) return;
  pool_section** at = &pool_thread.sections;
  while (*at != &within) at = &(*at)->outer;
  *at = within.outer;
  leave_slot(*within.slot);
}

}  // namespace situ::detail
