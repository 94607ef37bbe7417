#include "heap/renumbering.h"

#include <situ/base/error.h>
#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/memory/allocate.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace situ::detail {
namespace {

// While objects are numbered, the new table has in an entry the old number of its object, with this bit, which no
// entry of a stopped heap has.
constexpr std::uint64_t is_old_number = entry_is_moving;

// Several places write a table's lines, so these accesses go past caches that are not coherent.
void store_past_caches(std::uint64_t* at, std::uint64_t value) noexcept {
  std::atomic_ref<std::uint64_t>{*at}.store(value, std::memory_order_relaxed);
}
std::uint64_t load_past_caches(std::uint64_t* at) noexcept {
  return std::atomic_ref<std::uint64_t>{*at}.load(std::memory_order_relaxed);
}

}  // namespace

// If place 0 has no room for the new table and the map, all places give back the chunks that they do not use.
void renumbering::begin() {
  {
    const std::lock_guard hold{core_.lock_};
    for (heap_chunk* const each : std::vector{core_.chunks_})
      if (!each->is_young && std::atomic_ref<std::uint64_t>{each->live_bytes}.load(std::memory_order_relaxed) == 0)
        core_.retire(each);
  }
  signal_word<std::uint32_t>& outcome = core_.shared_->renumbering;
  if (core_.here_ == 0) outcome.set(make_table() ? renumbering_is_open : renumbering_wants_memory);
  meeting_.meet();
  if (outcome.look() != renumbering_wants_memory) return;
  {
    const std::lock_guard hold{core_.lock_};
    for (auto* const chunks : {&core_.free_chunks_, &core_.to_deallocate_}) core_.free_chunks(*chunks);
  }
  meeting_.meet();
  if (core_.here_ == 0) {
    outcome.set(renumbering_is_open);
    if (!make_table()) give_up("a second table");
  }
  meeting_.meet();
}

// Returns false if this place has no room.
bool renumbering::make_table() {
  const auto block_of = [](std::uint64_t bytes) -> ptr<std::byte> {
    try {
      return situ::allocate_bytes(bytes, {.alignment = chunk_bytes});
    } catch (const error& refused) {
      if (refused.code() != errc::out_of_memory) throw;
      return {};
    }
  };
  if (!table_block_) table_block_ = block_of(core_.table_bytes());
  if (!map_block_) map_block_ = block_of(core_.options_.entries * core_.places_ * sizeof(std::uint32_t));
  if (!table_block_ || !map_block_) return false;
  heap_shared& shared = *core_.shared_;
  shared.has_leftover.store(0);
  shared.new_table.store(reinterpret_cast<std::uint64_t>(table_block_.local()));
  shared.map.store(reinterpret_cast<std::uint64_t>(map_block_.local()));
  return true;
}

bool renumbering::is_open() const noexcept { return core_.shared_->renumbering.look() == renumbering_is_open; }

void renumbering::give_up(const char* wanted) {
  if (!core_.shared_->renumbering.exchange_if(renumbering_is_open, renumbering_is_given_up)) return;
  log(log_level::warning, fmt::format("a collection of an object heap renumbers nothing: place {} has no room for {}",
                                      core_.here_, wanted));
}

void renumbering::meet_fresh() {
  meeting_.meet();
  invalidate_all();
}

bool renumbering::run(const std::vector<std::uint32_t>& order) {
  begin();
  if (!is_open()) {
    drop_copies();
    return false;
  }
  table_ = reinterpret_cast<std::byte*>(core_.shared_->new_table.load());
  map_ = reinterpret_cast<std::uint32_t*>(core_.shared_->map.load());
  try {
    number(order);
    copy_objects();
    if (!commit()) {
      drop_copies();
      return false;
    }
  } catch (...) {
    if (core_.shared_->renumbering.look() != renumbering_is_committed) {
      core_.shared_->renumbering.exchange_if(renumbering_is_open, renumbering_is_given_up);
      leave(std::exchange(table_block_, {}));
      drop_copies();
    }
    throw;
  }
  meeting_.meet();
  free_old();
  return true;
}

// --- numbers

void renumbering::clear_own_part() {
  const std::uint64_t n = core_.options_.entries, begin = core_.here_ * n;
  if (core_.options_.table == heap_table::homed) home_pages(table_ + begin * 8, n * 8, core_.here_);
  std::memset(table_ + begin * 8, 0, n * 8);
  std::memset(table_ + n * core_.places_ * 8 + begin / 8, 0, n / 8);  // its marks
}

void renumbering::set_number(std::uint32_t old, std::uint64_t index) {
  std::atomic_ref<std::uint32_t>{map_[old / 2]}.store(static_cast<std::uint32_t>(2 * index), std::memory_order_relaxed);
  if (sorts_) store_past_caches(at_new_entry(index), old | is_old_number);
}

// A home's own trace comes first in its part of the table; then those of other places, each in its order.
void renumbering::number(const std::vector<std::uint32_t>& order) {
  clear_own_part();
  std::vector<std::uint64_t> count(core_.places_), next(core_.places_);
  std::vector<std::uint16_t> homes;
  homes.reserve(order.size());
  static_assert(most_heap_places <= 65536);
  for (const std::uint32_t old : order) {
    homes.push_back(static_cast<std::uint16_t>(core_.home_of(object_of_entry(core_.entry(old)))));
    ++count[homes.back()];
  }
  next[core_.here_] = core_.here_ == 0 ? 1 : 0;  // number 0 is the null reference
  next_entry(core_.here_).set(next[core_.here_] + count[core_.here_]);
  meet_fresh();
  for (std::uint32_t p = 0; p < core_.places_; ++p)
    if (p != core_.here_ && count[p] != 0) next[p] = next_entry(p).add(count[p]);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint64_t at = next[homes[i]]++;
    if (at < core_.options_.entries)
      set_number(order[i], homes[i] * core_.options_.entries + at);
    else
      leftover_.push_back(order[i]);
  }
  if (!leftover_.empty()) core_.shared_->has_leftover.store(1);
  meet_fresh();
  if (core_.shared_->has_leftover.load() == 0) return;
  number_leftover();
  meet_fresh();
}

// Each object has had an entry, so there are enough in all parts together.
void renumbering::number_leftover() {
  std::uint32_t part = 0;
  for (const std::uint32_t old : leftover_) {
    std::uint64_t at = core_.options_.entries;
    for (; part < core_.places_; ++part) {
      if (next_entry(part).look() >= core_.options_.entries) continue;
      at = next_entry(part).add(1);
      if (at < core_.options_.entries) break;
    }
    if (part == core_.places_) return give_up("entries of the table");
    set_number(old, part * core_.options_.entries + at);
  }
}

// --- copies

void renumbering::copy_objects() {
  std::unique_lock lock{core_.lock_};
  core_.rooms_.clear();
  for (heap_chunk* const each : core_.chunks_)
    if (!each->is_young) old_chunks_.push_back(each);
  if (sorts_)
    copy_in_order_of_numbers(lock);
  else
    copy_in_order_of_chunks(lock);
}

void renumbering::copy_in_order_of_numbers(std::unique_lock<std::mutex>& lock) {
  const bool are_anywhere = core_.shared_->has_leftover.load() != 0;
  for (std::uint32_t part = 0; part < core_.places_; ++part) {
    if (part != core_.here_ && !are_anywhere) continue;
    const std::uint64_t begin = part * core_.options_.entries;
    const std::uint64_t end = begin + std::min(next_entry(part).look(), core_.options_.entries);
    for (std::uint64_t index = begin; index < end && is_open(); ++index) {
      const std::uint64_t slot = load_past_caches(at_new_entry(index));
      if ((slot & is_old_number) == 0) continue;  // number 0, or its home has copied it
      const std::uint64_t its = core_.entry(static_cast<std::uint32_t>(slot & ~is_old_number));
      if (core_.home_of(object_of_entry(its)) != core_.here_) continue;
      if (!copy(*object_of_entry(its), its, static_cast<std::uint32_t>(2 * index), lock)) return;
    }
  }
}

void renumbering::copy_in_order_of_chunks(std::unique_lock<std::mutex>& lock) {
  for (heap_chunk* const each : old_chunks_)
    each_object(*each, [&](heap_object& object) {
      const std::uint64_t its = core_.entry(self_of(object));
      if (object_of_entry(its) == &object && is_open()) (void)copy(object, its, new_number(object.self), lock);
    });
}

// Returns false if this place has no room.
bool renumbering::copy(const heap_object& old, std::uint64_t its, std::uint32_t number,
                       std::unique_lock<std::mutex>& lock) {
  const std::uint32_t age = std::min(old.age + 1U, 255U);
  const chunk_kind before = chunk_of(&old)->kind;
  const chunk_kind kind = core_.becomes_read_mostly(old, age) ? chunk_kind::read_mostly : before;
  heap_object* const made = room(kind, old.words, lock);
  if (made == nullptr) {
    give_up("a copy of each of its objects");
    return false;
  }
  copy_object(*made, old, number);
  made->age = static_cast<std::uint8_t>(age);
  core_.each_reference(*made, [this](std::uint32_t& word) { word = new_number(word); });
  const std::uint64_t bits = (its & ~entry_address_bits) | (kind != before ? entry_is_read_mostly : 0);
  store_past_caches(at_new_entry(number / 2), reinterpret_cast<std::uint64_t>(made) | bits);
  if (kind != before) ++core_.counts_.made_read_mostly;
  ++copied_;
  return true;
}

heap_object* renumbering::room(chunk_kind kind, std::uint32_t words, std::unique_lock<std::mutex>& lock) {
  const copy_target to{core_.here_, kind};
  if (heap_object* const made = core_.room_at_hand(to, words)) return made;
  lock.unlock();
  heap_chunk* const more = core_.make_chunk(kind, object_bytes(words));
  lock.lock();
  if (more == nullptr) return nullptr;
  new_chunks_.push_back(more);
  return core_.room_of_new_chunk(*more, to, words);
}

// --- the change from the old heap to the new one

// Returns false if it has been given up.
bool renumbering::commit() {
  signal_word<std::uint32_t>& outcome = core_.shared_->renumbering;
  try {
    meeting_.meet([&] { outcome.exchange_if(renumbering_is_open, renumbering_is_committed); });
  } catch (...) {  // the lost place has come, or will never: the word says which
    outcome.exchange_if(renumbering_is_open, renumbering_is_given_up);
    if (outcome.look() == renumbering_is_committed) use_new_table();
    throw;
  }
  if (outcome.look() != renumbering_is_committed) return false;
  use_new_table();
  return true;
}

void renumbering::use_new_table() {
  invalidate_all();
  const heap_thread::root_visitor visit = [this](std::uint32_t& word) {
    if (word != 0 && (word & 1) == 0) word = new_number(word);
  };
  for (thread_state* const each : core_.threads_) {
    for (std::uint32_t& root : each->roots_) visit(root);
    for (const auto& roots : each->its().root_functions)
      if (roots) roots(visit);
    each->table_ = table_;
  }
  const std::lock_guard hold{core_.lock_};
  core_.use_table(table_);
  core_.numbering_ ^= 1;
  core_.free_runs_.clear();  // sweep() has cleared those of threads
  core_.counts_.objects_moved += copied_;
  core_.counts_.objects_renumbered += copied_;
  if (core_.here_ != 0) return;
  leave(std::exchange(core_.table_block_, std::exchange(table_block_, {})));
}

// It has been given up: the old heap stays.
void renumbering::drop_copies() {
  const std::lock_guard hold{core_.lock_};
  for (heap_chunk* const each : new_chunks_) core_.retire(each);
  core_.rooms_.clear();
  if (table_block_) core_.free_table(std::exchange(table_block_, {}));
  if (map_block_) deallocate(std::exchange(map_block_, {}));
}

void renumbering::free_old() {
  const std::lock_guard hold{core_.lock_};
  for (heap_chunk* const each : old_chunks_) core_.retire(each);
  core_.free_left_tables();
}

// Other places may still read the table and the map.
void renumbering::leave(ptr<std::byte> table) {
  if (core_.here_ == 0 && (table || map_block_)) core_.left_tables_.push_back({table, std::exchange(map_block_, {})});
}

}  // namespace situ::detail
