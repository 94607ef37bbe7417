#include "pool/sharing.h"

#include <situ/base/detail/assert.h>
#include <situ/base/error.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/host.h"
#include "pool/pool_file.h"

namespace situ::detail {
namespace {

constexpr std::uint32_t sleepers_bit = pool_sleepers_bit;
constexpr std::uint32_t torn_bit = pool_torn_bit;
constexpr std::uint32_t flag_bits = sleepers_bit | torn_bit;
constexpr unsigned slot_shift = 2;
constexpr unsigned claim_shift = 9;
static_assert(pool_slot_count <= 1u << (claim_shift - slot_shift));

// Some thousand cycles: a transaction of a few objects is over by then.
constexpr unsigned most_looks = 40;
constexpr std::int64_t sleep_ns = 1'000'000;
constexpr std::uint64_t impatient_after_ns = 500'000;
constexpr std::uint64_t pass_ns = 2'000'000;
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

// When a process began, in clock ticks since the machine did; 0: there is none, or nothing of it but its number.
std::uint64_t beginning_of(std::uint64_t process) noexcept {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%llu/stat", static_cast<unsigned long long>(process));
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[1024];
  const ssize_t length = ::read(file, text, sizeof text - 1);
  ::close(file);
  if (length <= 0) return 0;
  text[length] = 0;
  // Its name, in brackets, may hold any character; behind it come the state and, 19 further on, the beginning.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] == 0 || at[2] == 'Z' || at[2] == 'X') return 0;
  ++at;
  for (int i = 0; i < 19 && at != nullptr; ++i) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : std::strtoull(at, nullptr, 10);
}

std::uint64_t own_processes() noexcept {
  struct stat space{};
  return ::stat("/proc/self/ns/pid", &space) == 0 ? static_cast<std::uint64_t>(space.st_ino) : 0;
}

std::string name_of(std::uint64_t process) {
  std::string name;
  std::ifstream file{fmt::format("/proc/{}/comm", process)};
  std::getline(file, name);
  return name.empty() ? fmt::format("process {}", process) : fmt::format("process {} ({})", process, name);
}

}  // namespace

pool_sharing::pool_sharing(pool_area* area, const pool_openers& openers, std::string path, std::uint64_t patience_ns)
    : own_area_{area == nullptr ? std::make_unique<pool_area>() : nullptr},
      area_{area == nullptr ? own_area_.get() : area},
      openers_{openers},
      path_{std::move(path)},
      patience_ns_{patience_ns},
      process_{::getpid()} {}

pool_sharing::~pool_sharing() {
  // A child of the process has neither the mapping nor a slot.
  if (own_area_ != nullptr || slot_ == nullptr || ::getpid() != process_) return;
  for (std::uint32_t i = 0; i < pool_slot_count; ++i)
    if (is_own(area_->slots[i])) area_->slots[i].state.store(0);
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
    area_->word.store(is_torn ? torn_bit : 0);
  }
  if (own_area_ != nullptr) {
    slot_ = &area_->slots[0];
    token_ = 1u << claim_shift;
    area_->slots_used.store(1);
  } else {
    claim();
  }
  slot_->state.store(std::uint64_t{token_} << 32);
}

// The kernel gives it, or nobody else has the area.
bool pool_sharing::take_slot(std::uint32_t number) noexcept {
  pool_slot& slot = area_->slots[number];
  if (is_own(slot) || (own_area_ == nullptr && !openers_.take_slot(number))) return false;
  slot.process.store(static_cast<std::uint64_t>(process_));
  slot.begun.store(beginning_of(static_cast<std::uint64_t>(process_)));
  slot.processes.store(own_processes());
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

// The first thread that reads has the process's first slot; where no other is left, so have all.
pool_slot* pool_sharing::claim_lane(pool_thread_state& thread) noexcept {
  if (thread.lane == most_pool_lanes) thread.lane = threads_that_read.fetch_add(1) % most_pool_lanes;
  const std::lock_guard guard{claiming_};
  std::atomic<pool_slot*>& lane = lanes_[thread.lane];
  if (pool_slot* const there = lane.load()) return there;
  bool is_first = true;
  for (const auto& each : lanes_) is_first = is_first && each.load() == nullptr;
  for (std::uint32_t i = 0; !is_first && i < pool_lane_slots; ++i) {
    if (!take_slot(i)) continue;
    area_->slots[i].state.store(std::uint64_t{token_} << 32);
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
  if (token_of_state(slot.state.load()) != token) return false;  // who came after it has its slot
  if (!openers_.has_slot(number)) return false;
  // A child that it has left behind keeps its files open.
  const std::uint64_t begun = slot.begun.load();  // 0 without a /proc: then nothing but the locks tells
  if (begun == 0 || slot.processes.load() != own_processes()) return true;
  return beginning_of(slot.process.load()) == begun;
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

// --- waiting ---

struct pool_sharing::waiting {
  unsigned looks = 0;
  std::uint64_t begun = 0;
  bool is_impatient = false;
  bool has_slept = false;  // and so looks whether those it waits for live

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
    // Who stops reading after this store sees it, or is seen by the next look.
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

void pool_sharing::wake_sleepers() noexcept { wake_on_word(area_->word, INT_MAX); }

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
  slot.state.fetch_sub(1);
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
