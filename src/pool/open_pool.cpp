#include "pool/open_pool.h"

#include <situ/base/detail/assert.h>
#include <situ/base/error_code.h>
#include <situ/base/log.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace situ::detail {

pool open_pool::create(const std::string& path, const pool_options& options, const pool_overrides& overrides) {
  return pool{std::make_unique<open_pool>(pool_file::create(path, options, overrides))};
}
open_pool::open_pool(pool_file file)
    : file_{std::move(file)}, sharing_{file_.area(), file_.openers(), file_.path(), file_.patience_ns()} {
  file_.call_before_growth([this] { check_lock(); });
  if (file_.is_first()) {
    file_.read_state();
    if (file_.may_write()) file_.take_room();
    if (file_.is_redo()) {
      replay();
    } else {
      recover();
    }
    if (file_.may_write()) file_.settle();
    sharing_.enter(true, !file_.may_write() && restored_ranges_ != 0, file_.chunks());
  } else {
    sharing_.enter(false, false, 0);
    read_again();
    if (file_.may_write()) file_.take_room();
  }
  const std::chrono::milliseconds every{file_.header().sync_every_ms};
  if (file_.may_write() && file_.promise() == pool_promise::batched && every.count() != 0) batched_.start(redo_, every);
  if (!file_.may_write() || !file_.is_moved()) file_.leave_gate();
}

open_pool::~open_pool() {
  SITU_ASSERT(1, level_count_ == 0, "destroy transactions before their pool");
  if (sharing_.is_in_child()) {
    batched_.leave_to_parent();
    ahead_.leave_to_parent();
    return;
  }
  batched_.stop();
  if (file_.is_redo() && file_.may_write()) checkpoint();
}

void open_pool::replay() {
  const pool_file::private_writing writing{file_};
  redo_.read();
  heap_.read();
  if (!file_.may_write()) return;
  if (redo_.has_spilled()) redo_.checkpoint();
  if (!file_.is_new()) redo_.forget_rest();
  if (redo_.replayed() != 0)
    log(log_level::info, fmt::format("pool {}: its last writer did not close it; {} transactions are read from its log",
                                     file_.path(), redo_.replayed()));
}

// Each step may be interrupted and repeated, since the first contents of a range are the same each time. A refused pool
// is left unchanged, so the map is read before anything is flushed.
void open_pool::recover() {
  log_.read();
  if (log_.is_empty()) return heap_.read();
  if (!file_.may_write()) {
    restore_privately();
    return heap_.read();
  }
  restored_ranges_ = 0;
  std::vector<std::byte> before;
  log_.for_each([&](std::uint64_t offset, std::uint64_t bytes) {
    before.insert(before.end(), file_.base() + offset, file_.base() + offset + bytes);
    ++restored_ranges_;
  });
  restored_bytes_ = log_.restore(0);
  try {
    heap_.read();
  } catch (...) {
    const std::byte* from = before.data();
    log_.for_each([&](std::uint64_t offset, std::uint64_t bytes) {
      std::copy_n(from, bytes, file_.base() + offset);  // also of no bytes, if `before` has no memory
      from += bytes;
    });
    throw;
  }
  flush_changes(pool_step::restore);
  file_.persist().fence(pool_step::restore);
  log_.end(pool_step::restored_end);
  log(log_level::warning,
      fmt::format("pool {}: its last writer left a transaction incomplete; {} ranges of {} bytes are "
                  "as they were before it",
                  file_.path(), restored_ranges_, restored_bytes_));
}

// --- levels ---

// Rare cases are tail calls to other functions, so that this one saves no registers across calls.
std::size_t open_pool::begin() {
  if (!file_.may_write() || !sharing_.take_at_once()) [[unlikely]]
    return begin_slowly();
  if (level_count_ != 0 || checks_ != nullptr || sharing_.is_read() || has_device_failed() || is_behind()) [[unlikely]]
    return begin_rare();
  return level_count_ = 1;
}

std::size_t open_pool::begin_slowly() {
  if (!file_.may_write())
    throw_error(errc::bad_argument, fmt::format("pool {}: it is open for reading; open it for writing", file_.path()));
  sharing_.lock();
  return begin_rare();
}

// Begins a level within another one, or in a pool that other processes have changed or are reading.
std::size_t open_pool::begin_rare() {
  sharing_.complete_lock();
  std::unique_lock guard{sharing_, std::adopt_lock};
  if (sharing_.is_lost()) sharing_.throw_lost();
  check_device();
  if (level_count_ == 0 && is_behind()) catch_up();
  if (checks_ != nullptr) checks_->begin_level();
  if (level_count_ != 0) inner_.push_back({log_.entries(), heap_.here()});
  guard.release();
  return ++level_count_;
}

void open_pool::check_writes() {
  const std::lock_guard guard{sharing_};
  if (level_count_ != 0 || !file_.may_write())
    throw_error(errc::bad_argument, fmt::format("pool {}: stores are checked in a pool that is open for writing, from "
                                                "between two transactions on",
                                                file_.path()));
  if (checks_ == nullptr) checks_ = std::make_unique<write_check>(file_);
}

void open_pool::commit(std::size_t level, bool& is_complete) {
  check_level(level);
  if (checks_ != nullptr) [[unlikely]]
    return commit_checked(level, is_complete);
  commit_all(level, is_complete);
}

void open_pool::commit_checked(std::size_t level, bool& is_complete) {
  checks_->expect_covered();
  const write_check::engine_part part{checks_.get()};
  commit_all(level, is_complete);
}

void open_pool::commit_all(std::size_t level, bool& is_complete) {
  if (level == 1 && (!log_.is_empty() || heap_.is_changed() || !changed_.empty())) {
    check_lock();
    publish();
    if (file_.is_redo()) [[unlikely]] {
      complete_by_record(is_complete);
    } else {
      complete_in_place(is_complete);
    }
  }
  is_complete = true;
  leave(true);
}

inline void open_pool::complete_in_place(bool& is_complete) {
  if (file_.persist().is_needed()) [[unlikely]] {
    flush_changes(pool_step::commit);
    heap_.for_each_fresh(
        [&](const std::byte* at, std::size_t bytes) { file_.persist().flush(at, bytes, pool_step::commit); });
  }
  file_.persist().fence(pool_step::commit);
  is_complete = true;
  if (heap_.is_changed()) heap_.complete();
  try {
    log_.end(pool_step::end);
    file_.persist().fence(pool_step::end);
  } catch (...) {
    end_outermost();
    leave(true);
    throw;
  }
  end_outermost();
}

void open_pool::complete_by_record(bool& is_complete) {
  log_.for_each([&](std::uint64_t offset, std::uint64_t bytes) { changed_.push_back({offset, bytes}); });
  heap_.for_each_fresh(
      [&](const std::byte* at, std::size_t bytes) { changed_.push_back({file_.offset_of(at), bytes}); });
  merge_ranges(changed_);
  redo_.append(changed_);
  is_complete = true;
  heap_.complete();
  log_.begin_anew();
  if (redo_.is_full()) checkpoint();
  end_outermost();
}

// If the checkpoint fails, its records stay in the log for the next opener, and nothing more is written.
void open_pool::checkpoint() noexcept {
  if (file_.persist().has_failed() || batched_.failure() != 0) return;
  try {
    redo_.checkpoint();
  } catch (const std::exception& failed) {
    file_.persist().fail();
    log(log_level::error, failed.what());
  }
}

void open_pool::throw_device_failed() {
  if (sharing_.is_lost()) sharing_.throw_lost();
  throw_error(errc::bad_file,
              fmt::format("pool {}: its device has failed before{}; look at it, then open the pool anew", file_.path(),
                          batched_.failure() != 0 ? std::string{": "} + std::strerror(batched_.failure()) : ""));
}

void open_pool::sync() {
  const std::lock_guard guard{sharing_};
  if (file_.promise() == pool_promise::process)
    throw_error(errc::bad_argument, fmt::format("pool {}: it promises to survive the end of its process, no more: make "
                                                "it with another promise to wait for its device",
                                                file_.path()));
  check_device();
  if (file_.is_redo()) redo_.sync();
}

// Most transactions change one word of the allocator, or none.
inline void open_pool::publish() {
  heap_word one{};
  if (file_.has_checks()) [[unlikely]]
    return publish_all();
  if (!heap_.is_changed()) return;
  if (!heap_.plan_one(one)) return publish_all();
  const std::uint64_t offset = file_.offset_of(one.at);
  log_.append(offset, sizeof(std::uint64_t), pool_step::publish);
  log_.fence(pool_step::publish);
  __atomic_store_n(one.at, one.value, __ATOMIC_RELAXED);
  if (sharing_.has_others()) sharing_.note_change(offset);
}

void open_pool::publish_all() {
  heap_.plan(words_);
  if (file_.has_checks()) object_checks_.plan();
  if (words_.empty() && !(file_.has_checks() && object_checks_.is_needed())) return;
  for (std::size_t i = 0; i < words_.size();) {
    const std::size_t begin = i;
    while (++i < words_.size() && words_[i].at == words_[i - 1].at + 1) {}
    log_.append(file_.offset_of(words_[begin].at), (i - begin) * 8, pool_step::publish);
  }
  log_.fence(pool_step::publish);
  for (const heap_word& each : words_) __atomic_store_n(each.at, each.value, __ATOMIC_RELAXED);
  if (file_.has_checks()) object_checks_.store(changed_);
  if (sharing_.has_others())
    for (const heap_word& each : words_) sharing_.note_change(file_.offset_of(each.at));
}

void open_pool::flush_changes(pool_step step) {
  log_.for_each(
      [&](std::uint64_t offset, std::uint64_t bytes) { file_.persist().flush(file_.base() + offset, bytes, step); });
  for (const pool_range& each : changed_) file_.persist().flush(file_.base() + each.offset, each.bytes, step);
}

// Other processes have the pool by now, or this is a forked child: only this process's own memory is rolled back.
void open_pool::drop() noexcept {
  heap_.undo(innermost().heap);
  if (checks_ != nullptr && !sharing_.is_in_child()) checks_->end_level(false);
  if (--level_count_ == 0) {
    log_.begin_anew();
    end_outermost();
  } else {
    inner_.pop_back();
  }
  sharing_.unlock();
}

void open_pool::lose() {
  file_.persist().fail();
  sharing_.throw_lost();
}

void open_pool::abort(std::size_t level) noexcept {
  check_level(level);
  if (!sharing_.holds()) [[unlikely]]
    return drop();
  const write_check::engine_part part{checks_.get()};
  const level_start from = innermost();
  log_.restore(from.log_entries);
  heap_.undo(from.heap);
  if (checks_ != nullptr)
    checks_->bring_back(
        [&](const std::byte* at, std::size_t bytes) { changed_.push_back({file_.offset_of(at), bytes}); });
  if (level == 1) {
    if (file_.is_redo()) {
      log_.begin_anew();
    } else if ((!log_.is_empty() || !changed_.empty()) && !file_.persist().has_failed()) {
      try {
        flush_changes(pool_step::restore);
        file_.persist().fence(pool_step::restore);
        log_.end(pool_step::restored_end);
      } catch (const std::exception& failed) {
        // The log is unchanged or has ended; either way the next opening finds the state before the transaction.
        log(log_level::error, failed.what());
      }
    }
    end_outermost();
  }
  leave(false);
}

// --- operations of a transaction ---

void open_pool::snapshot(std::size_t level, const void* at, std::size_t bytes) {
  check_level(level);
  check_lock();
  const std::uint64_t offset = file_.offset_of(at);
  const std::uint64_t in_heap = offset - file_.heap_offset();
  const std::uint64_t heap_bytes = std::uint64_t{file_.chunks()} * chunk_bytes;
  if (in_heap > heap_bytes || bytes > heap_bytes - in_heap) [[unlikely]]
    throw_outside(at, bytes);
  if (checks_ != nullptr) [[unlikely]]
    return snapshot_checked(at, bytes);
  if (bytes != 0 && ((log_.is_empty() && !heap_.has_fresh()) || !is_kept(offset, at, bytes))) keep(offset, bytes);
}

void open_pool::snapshot_checked(const void* at, std::size_t bytes) {
  const write_check::engine_part part{checks_.get()};
  checks_->cover(at, bytes);
  const std::uint64_t offset = file_.offset_of(at);
  if (bytes != 0 && !is_kept(offset, at, bytes)) keep(offset, bytes);
}

bool open_pool::is_kept(std::uint64_t offset, const void* at, std::size_t bytes) const noexcept {
  const level_start from = innermost();
  return heap_.is_fresh(from.heap, at, bytes) || log_.has(from.log_entries, offset, bytes);
}

void open_pool::throw_outside(const void* at, std::size_t bytes) const {
  throw_error(errc::bad_address, fmt::format("pool {}: {} bytes at {} do not lie in it; snapshot objects of this pool",
                                             file_.path(), bytes, at));
}

void* open_pool::allocate(std::size_t level, std::size_t bytes, std::size_t alignment) {
  check_level(level);
  if (checks_ != nullptr) [[unlikely]]
    return allocate_checked(bytes, alignment);
  return heap_.take(bytes, alignment);
}

void* open_pool::allocate_checked(std::size_t bytes, std::size_t alignment) {
  const write_check::engine_part part{checks_.get()};
  void* const made = heap_.take(bytes, alignment);
  checks_->cover(made, bytes);
  return made;
}

void open_pool::destroy(std::size_t level, void* object) {
  check_level(level);
  const write_check::engine_part part{checks_.get()};
  if (object != nullptr) heap_.give_back(object);
}

}  // namespace situ::detail
