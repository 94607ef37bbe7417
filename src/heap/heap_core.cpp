#include "heap/heap_core.h"

#include <situ/base/error.h>
#include <situ/base/error_code.h>
#include <situ/memory/allocate.h>
#include <situ/memory/detail/place_context.h>
#include <situ/runtime/collective.h>
#include <situ/runtime/runtime.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "os/host.h"

namespace situ::detail {

void throw_no_element(std::uint32_t index, std::uint32_t elements) {
  throw_error(errc::bad_argument,
              fmt::format("there is no element {} in an array of {} of an object heap", index, elements));
}

void throw_too_large(std::uint64_t bytes) {
  throw_error(errc::bad_argument,
              fmt::format("an object of {} bytes: the largest of an object heap has {}", bytes, most_object_bytes));
}

heap_core::heap_core(const heap_options& options) : options_{options}, end_of_all_{world()} {
  place_context& context = *current;
  if (context.far != nullptr)
    throw_error(errc::not_supported, "an object heap needs all places of the job on one host");
  here_ = context.place;
  places_ = context.place_count;
  base_ = context.base;
  slice_shift_ = context.slice_shift;
  const std::uint64_t most = (std::uint64_t{1} << 31) / places_;
  if (options_.entries < entries_of_a_run || options_.entries > most)
    throw_error(errc::bad_argument, fmt::format("an object heap of {} entries a place: {} to {} with {} places",
                                                options_.entries, entries_of_a_run, most, places_));
  // An odd number of runs: places' parts then begin in different sets of a cache.
  options_.entries = ((options_.entries / entries_of_a_run - 1) | 1) * entries_of_a_run;
  if (places_ > most_heap_places)
    throw_error(errc::bad_argument, fmt::format("an object heap has {} places at most", most_heap_places));
#if defined(__SANITIZE_THREAD__)
  has_strong_sections_ = true;  // it does not know of membarrier
#else
  has_strong_sections_ = context.sender_fences || !join_order_of_processes();
#endif

  struct blocks {
    ptr<std::byte> table;
    ptr<heap_shared> shared;
  };
  blocks made{};
  // A place that has no room tells the others, which wait for it.
  std::string refusal;
  try {
    own_words_ = allocate<section_word>(most_threads);
    for (std::uint32_t i = 0; i < most_threads; ++i) new (own_words_.local() + i) section_word{};
    write_back(own_words_.local(), sizeof(section_word) * most_threads);
    if (here_ == 0) {
      made.shared = allocate<heap_shared>(1, {.alignment = 64});
      made.table = situ::allocate_bytes(table_bytes(), {.alignment = chunk_bytes});
      std::memset(made.table.local(), 0, table_bytes());
      write_back(made.table.local(), table_bytes());
      new (made.shared.local()) heap_shared{};
      for (std::uint32_t p = 0; p < places_; ++p) made.shared.local()->next_entry[0][p].set(p == 0 ? 1 : 0);
      write_back(made.shared.local(), sizeof(heap_shared));
    }
  } catch (const error& refused) {
    if (refused.code() != errc::out_of_memory) throw;
    refusal = refused.message();
  }
  struct of_place {
    blocks shared;
    ptr<section_word> words;
    std::uint64_t core;
    std::uint32_t has_room;
  };
  const std::vector<of_place> all =
      all_gather(of_place{made, own_words_, reinterpret_cast<std::uint64_t>(this), refusal.empty() ? 1U : 0U});
  if (const auto full = std::ranges::find(all, 0U, &of_place::has_room); full != all.end()) {
    if (own_words_) deallocate(own_words_);
    if (made.table) deallocate(made.table);
    if (made.shared) deallocate(made.shared);
    throw_error(
        errc::out_of_memory,
        fmt::format("place {} has no room for the table of an object heap ({} entries for each of {} places): {}",
                    full - all.begin(), options_.entries, places_,
                    refusal.empty() ? "give the job more memory, or the heap fewer entries" : refusal));
  }
  table_block_ = all[0].shared.table;
  shared_block_ = all[0].shared.shared;
  for (const of_place& each : all) {
    for (std::uint32_t i = 0; i < most_threads; ++i) words_.push_back(each.words.local() + i);
    cores_.push_back(each.core);
  }
  use_table(table_block_.local());
  shared_ = shared_block_.local();
  if (options_.table == heap_table::homed)
    home_pages(table_ + here_ * options_.entries * 8, options_.entries * 8, here_);
  barrier();  // from now on other places may ask this one
}

heap_core::~heap_core() {
  if (!end_of_all_.come()) return;
  for (const auto* list : {&chunks_, &free_chunks_, &to_deallocate_})
    for (heap_chunk* const each : *list) free_chunk(each);
  deallocate(own_words_);
  if (here_ == 0) {
    free_left_tables();
    free_table(table_block_);
    deallocate(shared_block_);
  }
}

void heap_core::use_table(std::byte* table) noexcept {
  table_ = table;
  marks_ = reinterpret_cast<std::atomic<std::uint64_t>*>(table + options_.entries * places_ * 8);
}

void heap_core::free_table(const ptr<std::byte>& block) {
  if (options_.table == heap_table::homed) share_pages(block.local(), options_.entries * places_ * 8);
  deallocate(block);
}

void heap_core::free_left_tables() {
  for (const left_table& each : left_tables_) {
    if (each.table) free_table(each.table);
    if (each.map) deallocate(each.map);
  }
  left_tables_.clear();
}

bool heap_core::replicates() const noexcept {
  return !has_coherent_places || options_.replicas == heap_replicas::always;
}

std::uint64_t heap_core::checked_entry(ref<> of) const {
  const std::uint64_t limit = 2 * options_.entries * places_;
  const std::uint64_t found = (of.raw() & 1) == 0 && of.raw() < limit ? changing_entry(of.raw()) : 0;
  if (found == 0)
    throw_error(errc::bad_argument, fmt::format("the reference {:#x} has no object in this object heap", of.raw()));
  return found;
}

thread_state::rest::entry_run heap_core::claim_run(thread_state& by) {
  {
    const std::lock_guard hold{lock_};
    if (!free_runs_.empty()) {
      const thread_state::rest::entry_run run = free_runs_.back();
      free_runs_.pop_back();
      return run;
    }
  }
  for (std::uint32_t i = 0; i < places_; ++i) {
    const std::uint32_t from = (here_ + i) % places_;
    std::uint64_t first = shared_->next_entry[numbering_][from].look();
    if (first >= options_.entries) continue;
    const std::uint64_t step = entries_of_a_run - first % entries_of_a_run;
    first = shared_->next_entry[numbering_][from].add(step);
    if (first >= options_.entries) continue;
    const std::uint64_t begin = from * options_.entries + first;
    if (i != 0)
      say_spill(by, fmt::format("more than {} entries of its table at place {}", options_.entries, here_), from);
    // If others have claimed the beginning of the run in the meantime, this run begins behind their part.
    const std::uint64_t end = std::min(begin + step, (from + std::uint64_t{1}) * options_.entries);
    return {static_cast<std::uint32_t>(2 * begin), static_cast<std::uint32_t>(2 * end)};
  }
  ask_for_collection(by);
  throw_error(errc::out_of_memory,
              fmt::format("the table of an object heap is full: {} entries at each of {} places, and no collection has "
                          "freed any; ask for more by heap_options::entries, or call safe_point() more often",
                          options_.entries, places_));
}

heap_counts heap_core::counts() const {
  const std::lock_guard hold{lock_};
  heap_counts sum = counts_;
  for (const thread_state* each : threads_) {
    sum.objects_made += each->objects_made();
    sum.bytes_made += each->rest_->bytes_made;
    const std::byte* const next = racing_load(each->next_);
    if (next != nullptr) sum.bytes_made += static_cast<std::uint64_t>(next - each->rest_->young.back()->first());
  }
  return sum;
}

}  // namespace situ::detail
