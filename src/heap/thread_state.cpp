// The slow paths of a thread: barriers that have found a bit, new chunks and runs of entries, roots.
#include <situ/base/error_code.h>
#include <situ/base/log.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "heap/heap_core.h"
#include "os/host.h"

namespace situ::detail {

thread_state::thread_state(heap_core& core, place_threads* threads, bool makes_shared)
    : has_strong_sections_{core.has_strong_sections_},
      bits_of_new_{makes_shared ? entry_is_shared : 0},
      core_{&core},
      rest_{std::make_unique<rest>()} {
  if (makes_shared && core.must_publish_entries())
    throw_error(errc::not_supported,
                "a thread of an object heap cannot make shared objects if each place caches the table's entries, since "
                "each object would take a round: use heap_table::homed, or heap_objects::own");
  rest_->threads = threads;
  std::unique_lock hold{core.lock_};
  while (core.is_stopping_) {  // a collection of all places goes through the list of threads without the lock
    hold.unlock();
    give_way();
    hold.lock();
  }
  table_ = core.table_;  // now, since a collection may give the heap another one
  section_word* const first = core.words_[std::size_t{core.here_} * most_threads];
  section_word* const found =
      std::find_if(first, first + most_threads, [](const section_word& each) { return each.is_used.load() == 0; });
  if (found == first + most_threads)
    throw_error(errc::bad_argument,
                fmt::format("place {} has {} threads in an object heap already", core.here_, most_threads));
  section_ = found;
  rest_->number = static_cast<std::uint32_t>(found - first);
  racing_store(core.words_used_, std::max(core.words_used_, rest_->number + 1));
  section_->value.store(0);
  section_->due.store(core.options_.collects_at_each_safe_point ? always_due : 0);
  section_->is_used.store(1);
  core.threads_.push_back(this);
}

thread_state::~thread_state() {
  rest& its = *rest_;
  if (its.is_parked) core_->unpark(*this);
  core_->share_remembered(*this);
  const std::lock_guard hold{core_->lock_};
  if (!its.young.empty()) {
    its.young.back()->top = next_;
    its.bytes_made += static_cast<std::uint64_t>(next_ - its.young.back()->first());
  }
  core_->counts_.objects_made += objects_made();
  core_->counts_.bytes_made += its.bytes_made;
  // Own objects that nobody else can reach end with the thread; those that are shared stay, in chunks like others.
  const auto end_object = [&](heap_object& each) {
    const std::uint64_t found = entry(each.self);
    if (object_of_entry(found) == &each && (found & entry_is_shared) == 0)
      store_entry(at_entry(each.self), std::uint64_t{0});
  };
  for (const auto* list : {&its.young, &its.large})
    for (heap_chunk* const each : *list) {
      each_object(*each, end_object);
      each->is_young = false;
      each->stays = false;
    }
  for (heap_chunk* const each : its.reserve) each->is_young = false;
  core_->free_runs_.insert(core_->free_runs_.end(), its.runs.begin(), its.runs.end());
  std::erase(core_->threads_, this);
  section_->is_used.store(0);
}

heap_object* thread_state::object_to_change(std::uint32_t raw) {
  while (true) {
    const std::uint64_t its = core_->changing_entry(raw);
    if ((its & (entry_is_moving | entry_is_read_mostly)) == 0) return object_of_entry(its);
    leave();
    if ((its & entry_is_moving) != 0) {
      core_->wait_while_moving(*this, raw);
      const std::lock_guard hold{core_->lock_};
      ++core_->counts_.waits_for_moves;
    } else {
      core_->make_ordinary(*this, raw);
    }
    enter();
  }
}

heap_object* thread_state::object_for_reference(std::uint32_t raw, std::uint32_t value) {
  const bool is_shared = (entry(raw) & entry_is_shared) != 0;
  if (is_shared && value != 0 && (value & 1) == 0 && (entry(value) & entry_is_shared) == 0) core_->share(*this, value);
  heap_object* const object = object_to_change(raw);
  if (is_shared) heap_core::order_before_references();
  return object;
}

std::uint32_t thread_state::find_entry_and_room(std::size_t bytes) {
  const std::uint32_t raw = find_entry();
  (void)find_room(bytes);
  return raw;
}

ref<> thread_state::make_large_object(std::uint8_t layout, std::uint32_t words, std::uint32_t type, std::uint16_t tag,
                                      std::uint32_t fill) {
  const std::size_t bytes = object_bytes(words);
  const std::uint32_t raw = find_entry();
  std::byte* const at = find_room(bytes);
  take_entry();
  if (at == next_) racing_store(next_, next_ + bytes);
  begin_object(reinterpret_cast<heap_object*>(at), raw, layout, words, type, tag, fill);
  return ref<>{raw};
}

std::byte* thread_state::find_room(std::size_t bytes) {
  if (bytes <= static_cast<std::size_t>(end_ - next_)) return next_;
  rest& its = *rest_;
  if (bytes > most_object_bytes) throw_too_large(bytes);
  const auto get = [&] {
    // A mover may wait for the end of this section while the place that this thread asks for memory waits for that
    // mover.
    const bool was_in_section = is_in_section();
    if (was_in_section) leave();
    heap_chunk* made = nullptr;
    try {
      made = core_->get_chunk(*this, core_->here_, chunk_kind::ordinary, bytes);
    } catch (...) {
      if (was_in_section) enter();
      throw;
    }
    if (was_in_section) enter();
    return made;
  };
  const bool is_large = bytes + sizeof(heap_chunk) > chunk_bytes;
  heap_chunk* chunk = nullptr;
  if (!is_large && !its.reserve.empty()) {
    chunk = its.reserve.back();
    its.reserve.pop_back();
  } else {
    chunk = get();
  }
  const std::lock_guard hold{core_->lock_};  // counts() and others look through the chunks
  const bool makes_shared = bits_of_new_ != 0;
  (makes_shared ? core_->shared_bytes_ : its.young_bytes) += chunk->bytes;
  if (its.young_bytes >= core_->options_.young_bytes)
    section_->due.fetch_or(own_collection_is_due, std::memory_order_relaxed);
  if (makes_shared && core_->options_.collect_after != 0 && core_->shared_bytes_ >= core_->options_.collect_after)
    section_->due.fetch_or(collection_is_due, std::memory_order_relaxed);
  if (is_large) {
    its.large.push_back(chunk);
    its.bytes_made += bytes;
    auto* const object = reinterpret_cast<heap_object*>(chunk->first());
    racing_store(object->self, 0U);
    racing_store(object->words, static_cast<std::uint32_t>((bytes - sizeof(heap_object)) / 4));
    chunk->top.store(chunk->first() + bytes, std::memory_order_release);
    return chunk->first();
  }
  if (!its.young.empty()) {
    its.young.back()->top = next_;
    its.bytes_made += static_cast<std::uint64_t>(next_ - its.young.back()->first());
  }
  chunk->is_young = !makes_shared;
  chunk->stays = makes_shared;
  its.young.push_back(chunk);
  racing_store(next_, chunk->first());
  end_ = chunk->limit();
  return next_;
}

// A stretch of free entries has 64 at most: their lines are then in the nearest cache when the objects are made.
std::uint32_t thread_state::find_entry() {
  constexpr std::uint32_t most = 2 * 64;
  if (next_raw() != free_end_) return next_raw();
  if (cursor_ >> 63 != 0) {
    const std::lock_guard hold{core_->lock_};  // others count
    racing_store(objects_made_, objects_made_ + (cursor_ >> 32));
    racing_store(cursor_, cursor_ & 0xffff'ffff);
  }
  rest& its = *rest_;
  while (true) {
    for (std::uint32_t raw = next_raw(); raw != run_end_; raw += 2) {
      if (entry(raw) != 0) continue;
      std::uint32_t end = raw + 2;
      while (end != run_end_ && end - raw != most && entry(end) == 0) end += 2;
      begin_stretch(raw, end);
      return raw;
    }
    if (its.runs_looked_through == its.runs.size()) its.runs.push_back(core_->claim_run(*this));
    const rest::entry_run& run = its.runs[its.runs_looked_through++];
    begin_stretch(run.begin, run.begin);
    run_end_ = run.end;
  }
}

std::size_t thread_state::add_root(std::uint32_t raw) {
  if (rest_->free_roots.empty()) {
    roots_.push_back(raw);
    return roots_.size() - 1;
  }
  const std::size_t at = rest_->free_roots.back();
  rest_->free_roots.pop_back();
  roots_[at] = raw;
  return at;
}

void thread_state::remove_root(std::size_t at) noexcept {
  roots_[at] = 1;
  if (at + 1 == roots_.size())
    roots_.pop_back();
  else
    rest_->free_roots.push_back(at);
}

}  // namespace situ::detail
