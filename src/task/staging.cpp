#include "task/staging.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "os/thread_stacks.h"
#include "task/graph_core.h"

namespace situ::detail {

namespace {
constexpr std::uint32_t no_frame = UINT32_MAX;
constexpr std::size_t most_looked_at = 64;  // candidates for eviction at either end of their list
}  // namespace

staging::staging(graph_core& core, staging_plan plan, std::shared_ptr<backing_store> store, const page_source& fast)
    : core_{core},
      plan_{std::move(plan)},
      is_checked_{core.is_checked()},
      store_{std::move(store)},
      store_begin_{store_->allocate(std::max<std::size_t>(plan_.bytes, 1))},
      room_{plan_.tiles, plan_.tile_bytes, plan_.budget_tiles, fast, plan_.name},
      tiles_(plan_.tiles) {
  for (std::size_t i = plan_.budget_tiles; i-- > 0;) free_frames_.push_back(static_cast<std::uint32_t>(i));
  if (is_checked_) watched_.emplace(*this);
  core_.add_staging(*this);
  try {
    const program_stacks for_stores;
    thread_ = os::worker{[this] {
      const watched_stack watched{"the thread of a staged array"};
      work();
    }};
  } catch (...) {
    core_.remove_staging(*this);
    throw;
  }
}

staging::~staging() {
  core_.settle_all();
  {
    lock held{mutex_};
    write_all(held);
    is_stopping_ = true;
  }
  core_.remove_staging(*this);
  changed_.notify_all();
  thread_.join();
}

std::size_t staging::bytes_of(std::uint32_t index) const noexcept {
  return std::min(plan_.tile_bytes, plan_.bytes - index * plan_.tile_bytes);
}
std::size_t staging::whole_pages_of(std::uint32_t index) const noexcept {
  return (bytes_of(index) + page_bytes - 1) / page_bytes * page_bytes;
}

// --- units ----------------------------------------------------------------------------------------------------------

bool staging::request(work_unit& unit) {
  {
    const std::scoped_lock held{mutex_};
    const auto is_there = [this](const staged_tile& each) { return each.of != this || is_ready(each); };
    if (wanted_.empty() && may_take(unit) && std::all_of(unit.staged->begin(), unit.staged->end(), is_there)) {
      ++taken_;
      for (const staged_tile& each : *unit.staged)
        if (each.of == this) pin(each);
      return false;
    }
    for (const staged_tile& each : *unit.staged)
      if (each.of == this) tiles_[each.tile].uses.push_back(unit.number);
    wanted_.push_back(&unit);
    ++events_;
  }
  changed_.notify_all();
  return true;
}

void staging::release(const std::vector<staged_tile>& tiles, bool has_failed) noexcept {
  {
    lock held{mutex_};
    for (const staged_tile& each : tiles) {
      if (each.of != this) continue;
      tile& it = tiles_[each.tile];
      if (it.state == tile_state::here && each.is_written && (!has_failed || !it.is_blank)) {
        it.is_changed = true;
        it.is_blank = false;
      }
      unpin(each);
      if (it.state == tile_state::here && it.pins == 0 && it.is_blank) {
        idle_.erase(it.idle);
        forget(each.tile, nullptr);
      }
    }
    --taken_;
    ++events_;
  }
  changed_.notify_all();
}

bool staging::may_take(const work_unit& unit) const {
  const auto more = std::count_if(unit.staged->begin(), unit.staged->end(), [this](const staged_tile& each) {
    return each.of == this && tiles_[each.tile].pins == 0;
  });
  if (pinned_ + static_cast<std::size_t>(more) > plan_.budget_tiles) return false;
  return taken_ < 2 * core_.thread_count() + 2 || pinned_ < plan_.budget_tiles / 2;
}

void staging::pin(const staged_tile& one) {
  tile& it = tiles_[one.tile];
  if (it.pins++ == 0) {
    ++pinned_;
    if (it.is_leaving)
      --leaving_;  // the tile stays
    else if (it.state == tile_state::here)
      idle_.erase(it.idle);
    it.is_leaving = false;
  }
  if (one.is_written) ++it.writers;
  protect(one.tile);
}

void staging::unpin(const staged_tile& one) {
  tile& it = tiles_[one.tile];
  if (one.is_written) --it.writers;
  if (--it.pins == 0) {
    --pinned_;
    if (it.state == tile_state::here) it.idle = idle_.insert(idle_.end(), one.tile);
  }
  protect(one.tile);
}

// In a checked graph, allows writes to a tile only while a unit may write it, and reads only while a unit may read it
// or the tile is being written to the store.
void staging::protect(std::uint32_t index) noexcept {
  const tile& it = tiles_[index];
  if (!is_checked_ || it.state != tile_state::here) return;
  room_.allow(index, it.writers != 0                 ? tile_access::all
                     : it.pins != 0 || it.is_written ? tile_access::reads
                                                     : tile_access::none);
}

// Frees the tile's frame. pre: the tile is here, and in no list. With `held`, the lock of the staging's thread, the
// pages move without the lock.
void staging::forget(std::uint32_t index, lock* held) {
  tile& it = tiles_[index];
  it.state = tile_state::away;
  it.is_changed = it.is_blank = false;
  if (held != nullptr) held->unlock();
  if (is_checked_) room_.allow(index, tile_access::all);
  room_.hide(index, it.frame);
  if (held != nullptr) held->lock();
  free_frames_.push_back(it.frame);
}

// --- the thread -----------------------------------------------------------------------------------------------------

void staging::work() {
  lock held{mutex_};
  for (;;) {
    const std::uint64_t seen = events_;
    while (begin_something(held)) {}
    if (!moves_.empty()) {
      finish_oldest(held);
    } else if (is_stopping_) {
      return;
    } else {
      changed_.wait(held, [&] { return is_stopping_ || events_ != seen; });
    }
  }
}

// Begins the next action: reads come before evictions for them, and evictions before taking more units, so that
// pending_ is bounded.
bool staging::begin_something(lock& held) {
  const bool may_move = moves_.size() < backing_store::queues;
  if (!to_write_.empty() && may_move) {
    const std::uint32_t index = to_write_.front();
    to_write_.pop_front();
    begin_write(index, held);
    return true;
  }
  if (!pending_.empty() && may_move) {
    if (!free_frames_.empty()) {
      begin_read(held);
      return true;
    }
    if (leaving_ < pending_.size() && begin_eviction(held)) return true;
  }
  if (wanted_.empty() || pending_.size() >= backing_store::queues || !may_take(*wanted_.front())) return false;
  work_unit& next = *wanted_.front();
  wanted_.pop_front();
  take(next, held);
  return true;
}

void staging::take(work_unit& unit, lock& held) {
  ++taken_;
  waiting_unit& waits = waiting_.emplace_back(waiting_unit{.unit = &unit});
  for (const staged_tile& each : *unit.staged) {
    if (each.of != this) continue;
    pin(each);
    tile& it = tiles_[each.tile];
    if (++it.next_use >= it.uses.size() / 2) {  // drops past uses, now and then
      it.uses.erase(it.uses.begin(), it.uses.begin() + static_cast<std::ptrdiff_t>(it.next_use));
      it.next_use = 0;
    }
    if (is_ready(each)) continue;
    ++waits.missing;
    it.waiting.push_back(&waits);
    if (it.state != tile_state::away) continue;
    it.state = tile_state::arriving;
    it.is_needed = each.is_needed;
    pending_.push_back(each.tile);
  }
  if (waits.missing != 0) return;
  waiting_.pop_back();
  held.unlock();
  core_.has_tiles(unit, nullptr);
  held.lock();
}

int staging::free_queue() const noexcept {
  int queue = 0;
  while (std::any_of(moves_.begin(), moves_.end(), [queue](const move& each) { return each.queue == queue; })) ++queue;
  return queue;
}

void staging::begin_move(std::uint32_t index, backing_store::direction to, std::byte* memory, lock& held) {
  move& begun = moves_.emplace_back(move{index, to, free_queue(), nullptr});
  held.unlock();
  try {
    store_->start(to, memory, offset_of(index), whole_pages_of(index), begun.queue);
  } catch (...) {
    begun.failure = std::current_exception();
  }
  held.lock();
}

// Begins to read the first pending tile. pre: a tile is pending, and a frame is free.
void staging::begin_read(lock& held) {
  const std::uint32_t index = pending_.front();
  pending_.pop_front();
  tile& it = tiles_[index];
  it.frame = free_frames_.back();
  free_frames_.pop_back();
  if (it.is_needed)
    begin_move(index, backing_store::direction::read, room_.frame(it.frame), held);
  else
    arrived(index, nullptr, held);
}

// Returns the tile to evict, or idle_.end(). A program that repeats its sweeps needs the least recently used tiles
// first; a program that does not needs none of them. So the search looks at both ends of the list.
std::list<std::uint32_t>::iterator staging::choose_victim() {
  auto best = idle_.end();
  std::uint64_t best_use = 0;
  const auto look_at = [&](std::list<std::uint32_t>::iterator each) {
    const tile& it = tiles_[*each];
    const std::uint64_t use = it.uses.empty() ? UINT64_MAX : it.uses[it.next_use];
    if (it.is_written || use <= best_use) return;
    best = each;
    best_use = use;
  };
  std::size_t looked_at = 0;
  auto front = idle_.begin();
  for (; front != idle_.end() && looked_at < most_looked_at && best_use != UINT64_MAX; ++front, ++looked_at)
    look_at(front);
  for (auto back = idle_.end(); back != front && looked_at < 2 * most_looked_at && best_use != UINT64_MAX; ++looked_at)
    look_at(--back);
  return best;
}

// Returns false if no tile can be evicted.
bool staging::begin_eviction(lock& held) {
  const auto found = choose_victim();
  if (found == idle_.end()) return false;
  const std::uint32_t index = *found;
  idle_.erase(found);
  tile& it = tiles_[index];
  if (!it.is_changed) {
    forget(index, &held);
    return true;
  }
  it.is_leaving = true;
  ++leaving_;
  begin_write(index, held);
  return true;
}

void staging::begin_write(std::uint32_t index, lock& held) {
  tiles_[index].is_changed = false;
  tiles_[index].is_written = true;
  protect(index);
  begin_move(index, backing_store::direction::write, room_.tile(index), held);
}

void staging::finish_oldest(lock& held) {
  move& oldest = moves_.front();
  held.unlock();
  try {
    store_->wait(oldest.queue);
  } catch (...) {
    if (!oldest.failure) oldest.failure = std::current_exception();
  }
  held.lock();
  const move ended = std::move(oldest);
  if (ended.to == backing_store::direction::read)
    arrived(ended.tile, ended.failure, held);
  else
    end_write(ended.tile, ended.failure, held);
  moves_.pop_front();
  changed_.notify_all();
}

// A tile that cannot be written back stays in memory, and a unit that needs its frame cannot run.
void staging::end_write(std::uint32_t index, const std::exception_ptr& failure, lock& held) {
  tile& it = tiles_[index];
  it.is_written = false;
  it.is_changed |= failure != nullptr;
  if (!failure) moved_.written_bytes += bytes_of(index);
  if (std::exchange(it.is_leaving, false)) {
    --leaving_;
    if (failure)
      it.idle = idle_.insert(idle_.begin(), index);
    else
      forget(index, &held);
  }
  protect(index);
  tell_waiting(index, nullptr, held);  // the tile is in memory, whatever the store has
  if (!failure) return;
  if (!write_failure_) write_failure_ = failure;
  if (pending_.empty()) return;
  const std::uint32_t first = pending_.front();
  pending_.pop_front();
  tiles_[first].frame = no_frame;
  arrived(first, failure, held);
}

void staging::arrived(std::uint32_t index, const std::exception_ptr& failed_before, lock& held) {
  tile& it = tiles_[index];
  std::exception_ptr failure = failed_before;
  if (!failure) {
    held.unlock();
    try {
      room_.show(index, it.frame);
    } catch (...) {
      failure = std::current_exception();
    }
    held.lock();
  }
  it.state = failure ? tile_state::away : tile_state::here;
  if (failure) {
    if (it.frame != no_frame) free_frames_.push_back(it.frame);
  } else {
    it.is_blank = !it.is_needed;
    if (it.is_needed) moved_.fetched_bytes += bytes_of(index);
    moved_.most_bytes =
        std::max<std::uint64_t>(moved_.most_bytes, (plan_.budget_tiles - free_frames_.size()) * plan_.tile_bytes);
    protect(index);
  }
  tell_waiting(index, failure, held);
}

void staging::tell_waiting(std::uint32_t index, const std::exception_ptr& failure, lock& held) {
  std::vector<waiting_unit> ready;
  for (waiting_unit* const each : std::exchange(tiles_[index].waiting, {})) {
    if (failure && !each->failure) each->failure = failure;
    if (--each->missing != 0) continue;
    ready.push_back(std::move(*each));
    waiting_.remove_if([each](const waiting_unit& one) { return &one == each; });
  }
  if (ready.empty()) return;
  held.unlock();
  for (const waiting_unit& each : ready) core_.has_tiles(*each.unit, each.failure);
  held.lock();
}

// --- between units --------------------------------------------------------------------------------------------------

// Waits until no move is under way. pre: no unit is under way.
void staging::await_still(lock& held) {
  changed_.wait(held, [this] { return moves_.empty() && to_write_.empty(); });
}

void staging::move_at_once(backing_store::direction to, std::byte* memory, std::uint64_t offset, std::size_t bytes) {
  store_->start(to, memory, offset, bytes, 0);
  store_->wait(0);
}

// Copies a part of one tile. If the tile is not in memory, reads or writes whole pages through a buffer of at most 1
// MiB.
void staging::copy_part(std::uint32_t index, std::size_t within, void* to, const void* from, std::size_t bytes) {
  tile& it = tiles_[index];
  if (it.state == tile_state::here) {
    std::byte* const there = room_.tile(index) + within;
    if (is_checked_) room_.allow(index, tile_access::all);
    if (from != nullptr)
      std::memcpy(there, from, bytes);
    else
      std::memcpy(to, there, bytes);
    it.is_changed |= from != nullptr;
    protect(index);
    return;
  }
  constexpr std::size_t most = std::size_t{1} << 20;
  const std::unique_ptr<std::byte, decltype(&std::free)> buffer{
      static_cast<std::byte*>(std::aligned_alloc(page_bytes, std::min(most, plan_.tile_bytes))), &std::free};
  if (buffer == nullptr) throw std::bad_alloc{};
  for (std::size_t done = 0; done != bytes;) {
    const std::size_t page = (within + done) / page_bytes * page_bytes, skip = within + done - page;
    const std::size_t some = std::min(bytes - done, std::min(most, plan_.tile_bytes - page) - skip);
    const std::size_t pages = (skip + some + page_bytes - 1) / page_bytes * page_bytes;
    if (from == nullptr || skip != 0 || some != pages)
      move_at_once(backing_store::direction::read, buffer.get(), offset_of(index) + page, pages);
    if (from != nullptr) {
      std::memcpy(buffer.get() + skip, static_cast<const std::byte*>(from) + done, some);
      move_at_once(backing_store::direction::write, buffer.get(), offset_of(index) + page, pages);
    } else {
      std::memcpy(static_cast<std::byte*>(to) + done, buffer.get() + skip, some);
    }
    done += some;
  }
}

void staging::copy(std::size_t at, void* to, const void* from, std::size_t bytes) {
  if (at > plan_.bytes || bytes > plan_.bytes - at)
    throw error{errc::bad_argument,
                fmt::format("bytes {} to {} of {}, which has {}", at, at + bytes, plan_.name, plan_.bytes)};
  core_.wait();
  lock held{mutex_};
  await_still(held);
  for (std::size_t done = 0; done != bytes;) {
    const auto index = static_cast<std::uint32_t>((at + done) / plan_.tile_bytes);
    const std::size_t within = at + done - index * plan_.tile_bytes;
    const std::size_t some = std::min(bytes - done, plan_.tile_bytes - within);
    copy_part(index, within, to == nullptr ? nullptr : static_cast<std::byte*>(to) + done,
              from == nullptr ? nullptr : static_cast<const std::byte*>(from) + done, some);
    done += some;
  }
}

void staging::flush() {
  core_.wait();
  lock held{mutex_};
  write_failure_ = nullptr;
  write_all(held);
  if (write_failure_) std::rethrow_exception(write_failure_);
}

// Writes all dirty tiles. pre: no unit is under way. The thread writes as many at a time as there are queues.
void staging::write_all(lock& held) {
  await_still(held);
  for (std::uint32_t i = 0; i < tiles_.size(); ++i)
    if (tiles_[i].is_changed) to_write_.push_back(i);
  ++events_;
  changed_.notify_all();
  await_still(held);
}

staging_statistics staging::statistics() const {
  const std::scoped_lock held{mutex_};
  staging_statistics now = moved_;
  now.resident_bytes = (plan_.budget_tiles - free_frames_.size()) * plan_.tile_bytes;
  return now;
}

}  // namespace situ::detail
