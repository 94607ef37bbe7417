#include "rmem/program_memory.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "os/host.h"

namespace situ::rmem::detail {
namespace {

using situ::detail::page_bytes;

constexpr std::uint64_t least_local_pages = 256;
constexpr std::uint64_t most_going_at_once = 32;
constexpr std::uint64_t most_ahead = 128;
constexpr int faults_in_a_turn = 32;

template <class T>
std::unique_ptr<T[], void (*)(void*)> zeroed(std::uint64_t count) {
  auto* const made = static_cast<T*>(std::calloc(count, sizeof(T)));
  if (made == nullptr) throw_error(errc::out_of_memory, fmt::format("no memory for a table of {} pages", count));
  return {made, std::free};
}

bool is_zero(const std::byte* page) {
  return page[0] == std::byte{0} && std::memcmp(page, page + 1, page_bytes - 1) == 0;
}

constexpr std::array<std::byte, page_bytes> zeros{};

std::vector<std::uint64_t> pages_of(page_store::pages which) {
  std::vector<std::uint64_t> pages;
  for (const page_store::held& each : which) pages.push_back(each.page);
  return pages;
}

}  // namespace

page_cache::settings program_memory::settings_of(std::uint64_t local_bytes) {
  const std::uint64_t budget_pages = local_bytes / page_bytes;
  if (budget_pages < least_local_pages)
    throw_error(
        errc::bad_argument,
        fmt::format("a program's remote memory needs a budget of {} or more here, for the pages that come and go "
                    "together; not {}",
                    format_bytes(least_local_pages * page_bytes), format_bytes(local_bytes)));
  return {.budget_pages = budget_pages,
          .most_ahead = static_cast<std::uint32_t>(std::min(most_ahead, budget_pages / 8)),
          .least_evicted_at_once = most_going_at_once,
          .mark = page_cache::middle::by_stream};
}

program_memory::program_memory(client through, const capability& of, std::uint64_t local_bytes)
    : of_{of},
      pages_{of.bytes / page_bytes},
      file_{memory_file("situ-rmem", pages_ * page_bytes)},
      own_{file_.descriptor(), pages_ * page_bytes, PROT_READ | PROT_WRITE},
      owner_of_page_{zeroed<std::uint32_t>(pages_)},
      is_stored_{zeroed<bool>(pages_)},
      cache_{*this, std::move(through), of, settings_of(local_bytes)},
      servers_{cache_.server().map(of)},
      slots_(cache_.frames().size()) {
  free_.add(0, pages_);
  counts_.is_mapped = servers_.has_value();
}

program_memory::process* program_memory::owner_of(std::uint64_t page) noexcept {
  const auto found = processes_.find(owner_of_page_[page]);
  return found == processes_.end() ? nullptr : &found->second;
}
std::string program_memory::place_of(std::uint64_t page) const {
  return fmt::format("byte {} of the region at {:#x} of server {}", page * page_bytes, of_.address, of_.address >> 56);
}

// --- processes ---

program_memory::process_number program_memory::enter(os::descriptor faults, std::uint64_t base) {
  const process_number number = ++last_number_;
  processes_.emplace(number, process{number, user_faults{std::move(faults)}, base, {}, {}, false, {}});
  ++counts_.processes;
  return number;
}

program_memory::process_number program_memory::enter_forked(process_number parent, os::descriptor faults,
                                                            std::uint64_t base) {
  const process_number number = enter(std::move(faults), base);
  process& child = processes_.at(number);
  for (const page_set* each : {&processes_.at(parent).owned, &processes_.at(parent).held})
    each->for_each_run([&](std::uint64_t first, std::uint64_t end) { child.held.add(first, end); });
  child.faults.watch_private(child.address(0), pages_ * page_bytes);
  if (!child.held.empty()) ++holders_;
  return number;
}

void program_memory::leave(process_number which) {
  const auto found = processes_.find(which);
  if (found == processes_.end()) return;
  const process gone = std::move(found->second);
  processes_.erase(found);
  if (!gone.held.empty()) --holders_;
  gone.owned.for_each_run([&](std::uint64_t first, std::uint64_t end) {
    disown(first, end);
    release_unused(first, end);
  });
  gone.held.for_each_run([&](std::uint64_t first, std::uint64_t end) { release_unused(first, end); });
}

std::optional<std::uint64_t> program_memory::allocate(process_number which, std::uint64_t pages) {
  const std::optional<std::uint64_t> first = free_.take(pages);
  if (!first) {
    ++counts_.refusals;
    return first;
  }
  processes_.at(which).owned.add(*first, *first + pages);
  std::fill_n(&owner_of_page_[*first], pages, which);
  ++counts_.allocations;
  counts_.most_bytes = std::max(counts_.most_bytes, (pages_ - free_.count()) * page_bytes);
  return first;
}

void program_memory::mapped(process_number which, std::uint64_t first, std::uint64_t pages) {
  process& its = processes_.at(which);
  its.faults.watch(its.address(first), pages * page_bytes);
}

void program_memory::give_back(process_number which, std::uint64_t first, std::uint64_t pages) {
  process& its = processes_.at(which);
  const std::uint64_t end = first + pages;
  its.owned.for_each_run_in(first, end, [&](std::uint64_t from, std::uint64_t to) { disown(from, to); });
  page_set both;
  for (page_set* each : {&its.owned, &its.held})
    each->for_each_run_in(first, end, [&](std::uint64_t from, std::uint64_t to) { both.add(from, to); });
  its.owned.remove(first, end);
  const bool held_some = !its.held.empty();
  its.held.remove(first, end);
  if (held_some && its.held.empty()) --holders_;
  both.for_each_run([&](std::uint64_t from, std::uint64_t to) { release_unused(from, to); });
}

void program_memory::disown(std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t page = first; page < end; ++page) {
    owner_of_page_[page] = 0;
    frame* const each = cache_.frame_at(page);
    if (each != nullptr) each->is_open = slots_[cache_.number_of(*each)].is_mapped = false;
  }
}

// Frees the pages that no process owns or holds, and makes them blank.
void program_memory::release_unused(std::uint64_t first, std::uint64_t end) {
  page_set unused;
  unused.add(first, end);
  for (const auto& [number, each] : processes_)
    for (const page_set* in_use : {&each.owned, &each.held})
      in_use->for_each_run_in(first, end, [&](std::uint64_t from, std::uint64_t to) { unused.remove(from, to); });
  unused.for_each_run([&](std::uint64_t from, std::uint64_t to) {
    drop(from, to);
    free_.add(from, to);
  });
}

void program_memory::make_blank(process_number which, std::uint64_t first, std::uint64_t pages) {
  process& its = processes_.at(which);
  const std::uint64_t end = first + pages;
  its.owned.for_each_run_in(first, end, [&](std::uint64_t from, std::uint64_t to) {
    hand_over(from, to);
    drop(from, to);
  });
  page_set gone;
  its.held.for_each_run_in(first, end, [&](std::uint64_t from, std::uint64_t to) { gone.add(from, to); });
  if (gone.empty()) return;
  its.held.remove(first, end);  // pages that are not held read as zeros
  if (its.held.empty()) --holders_;
  gone.for_each_run([&](std::uint64_t from, std::uint64_t to) { release_unused(from, to); });
}

// Drops the pages' bytes. pre: no process needs them.
void program_memory::drop(std::uint64_t first, std::uint64_t end) {
  std::vector<page_store::held> here;
  for (std::uint64_t page = first; page < end; ++page) {
    is_stored_[page] = false;
    if (const frame* const each = cache_.frame_at(page)) here.push_back(cache_.held_by(*each));
  }
  drop(here);
  for (const page_store::held& each : here) cache_.forget(cache_[each.frame]);
}

void program_memory::freeze(process_number which) {
  process& its = processes_.at(which);
  its.is_frozen = true;
  std::vector<std::uint64_t> open;
  for (frame& each : cache_.frames()) {
    if (!each.is_open || owner_of_page_[each.page] != which) continue;
    each.is_open = false;
    open.push_back(each.page);
  }
  std::sort(open.begin(), open.end());
  for_each_run(open, [&](std::uint64_t first, std::uint64_t end) {
    its.faults.protect(its.address(first), (end - first) * page_bytes);
  });
}

void program_memory::thaw(process_number which) {
  process& its = processes_.at(which);
  its.is_frozen = false;
  for (const std::uint64_t page : std::exchange(its.waiting, {})) its.faults.wake(its.address(page), page_bytes);
}

// --- touches ---

void program_memory::serve(process_number which) {
  process& its = processes_.at(which);
  for (int i = 0; i < faults_in_a_turn; ++i) {
    const std::optional<user_fault> fault = its.faults.next();
    if (!fault) return;
    const std::uint64_t page = (fault->address - its.base) / page_bytes;
    if (page >= pages_) continue;  // of a range that is not remote memory
    try {
      if (owner_of_page_[page] == which)
        serve_own(its, page, fault->is_write);
      else
        serve_copy(its, page);
    } catch (const error& why) {
      throw_error(why.code(), fmt::format("remote memory at {:#x} ({}) cannot be touched: {}", fault->address,
                                          place_of(page), why.message()));
    }
  }
}

void program_memory::serve_own(process& of, std::uint64_t page, bool is_write) {
  const frame* const found = cache_.frame_at(page);
  if (found == nullptr || !is_mapped(cache_.number_of(*found))) {
    if (cache_.touch(page, is_write)) cache_.fetch_ahead(page);
  } else if (!is_write || found->is_open) {
    // Another thread's touch has had it mapped, or the kernel has unmapped it.
    (void)cache_.map(std::array{page});
  } else if (of.is_frozen) {
    of.waiting.push_back(page);
  } else {
    cache_.open_from(page);
  }
}

// Gives a child a page as private memory of its own.
void program_memory::serve_copy(process& to, std::uint64_t page) {
  const bool is_held = to.held.has(page);
  if (is_held) ++counts_.copied_pages;
  (void)to.faults.copy(to.address(page), is_held ? content_of(page) : zeros.data(), page_bytes, false);
}

// --- the pages, for the cache ---

void program_memory::fetch(page_store::pages which) {
  const std::vector<std::uint64_t> pages = pages_of(which);
  // One call for each run replaces a fault for each page.
  for_each_run(pages, [&](std::uint64_t first, std::uint64_t end) {
    if (end - first > 1) (void)::madvise(own_page(first), (end - first) * page_bytes, MADV_POPULATE_WRITE);
  });
  if (is_stored_[pages.front()]) {
    read_pages(pages);
  } else {
    for (const std::uint64_t each : pages) *static_cast<volatile std::byte*>(own_page(each)) = std::byte{0};
    counts_.blank_pages += pages.size();
  }
  counts_.local_most_bytes = std::max(counts_.local_most_bytes, cache_.used_frames() * page_bytes);
}

// Reads pages: adjacent ones straight to their place, others by one request for all.
void program_memory::read_pages(page_cache::page_list pages) {
  if (servers_) {
    for (const std::uint64_t each : pages) std::memcpy(own_page(each), servers_page(each), page_bytes);
    return cache_.server().check(*servers_);
  }
  const std::uint64_t first = pages.front();
  if (pages.back() - first + 1 == pages.size())
    return cache_.read(pages, std::span{own_page(first), pages.size() * page_bytes});
  cache_.read(pages, staging_);
  const std::byte* from = staging_.data();
  for (const std::uint64_t each : pages) {
    std::memcpy(own_page(each), from, page_bytes);
    from += page_bytes;
  }
}

// Maps pages for their owner, which is the same for all.
page_store::outcome program_memory::map(page_store::pages which, bool is_protected) {
  process& of = *owner_of(which.front().page);
  for (const auto& [page, number] : which)
    if (const auto aside = std::exchange(slots_[number].aside, nullptr))
      std::memcpy(own_page(page), aside.get(), page_bytes);
  bool is_done = true;
  for_each_run(pages_of(which), [&](std::uint64_t first, std::uint64_t end) {
    is_done = of.faults.map(of.address(first), (end - first) * page_bytes, is_protected) && is_done;
  });
  if (!is_done && is_protected) return page_store::outcome::cannot_protect;
  for (const page_store::held& each : which) slots_[each.frame].is_mapped = true;
  return page_store::outcome::all;
}

void program_memory::allow_writes(std::uint64_t first_page, std::uint64_t end) {
  process& of = *owner_of(first_page);
  of.faults.allow_writes(of.address(first_page), (end - first_page) * page_bytes);
}

// Gives the page to the children that hold it. Returns false if the owner is frozen: its thread waits.
bool program_memory::before_write(frame& of) {
  process& its = *owner_of(of.page);
  if (its.is_frozen) {
    its.waiting.push_back(of.page);
    return false;
  }
  preserve(of.page);
  return true;
}

void program_memory::protect(frame& of) {
  process* const its = of.is_open ? owner_of(of.page) : nullptr;
  if (its != nullptr) its->faults.protect(its->address(of.page), page_bytes);
}

// Moves pages out of the file, so that the next touch is reported. Invariant 2.
void program_memory::unmap(page_store::pages which) {
  std::vector<std::uint64_t> moved;
  for (const auto& [page, number] : which) {
    slot& its = slots_[number];
    if (its.aside != nullptr) continue;
    protect(cache_[number]);
    its.aside = std::make_unique_for_overwrite<std::byte[]>(page_bytes);
    std::memcpy(its.aside.get(), own_page(page), page_bytes);
    its.is_mapped = cache_[number].is_open = false;
    moved.push_back(page);
  }
  punch(moved);
}

void program_memory::drop(page_store::pages which) {
  std::vector<std::uint64_t> in_file;
  for (const auto& [page, number] : which)
    if (std::exchange(slots_[number], {}).aside == nullptr) in_file.push_back(page);
  punch(in_file);
}

void program_memory::punch(page_cache::page_list pages) {
  for_each_run(pages, [&](std::uint64_t first, std::uint64_t end) {
    (void)::fallocate(file_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(first * page_bytes), static_cast<off_t>((end - first) * page_bytes));
  });
}

// Writes dirty pages to the server, except pages of zeros, which become blank.
void program_memory::write(std::span<const frame_number> which) {
  std::vector<remote_part> parts;
  staging_.clear();
  for (const auto& [page, number] : cache_.held_by(which)) {
    protect(cache_[number]);
    const std::byte* const now = bytes_of(cache_[number]);
    is_stored_[page] = !is_zero(now);
    if (!is_stored_[page]) continue;
    ++cache_.counts.written_pages;
    if (servers_)
      std::memcpy(servers_page(page), now, page_bytes);
    else
      staging_.insert(staging_.end(), now, now + page_bytes);
    if (!parts.empty() && parts.back().offset + parts.back().bytes == page * page_bytes)
      parts.back().bytes += page_bytes;
    else
      parts.push_back({page * page_bytes, page_bytes});
  }
  if (parts.empty()) return;
  try {
    if (servers_)
      cache_.server().check(*servers_);
    else
      cache_.server().scatter(of_, parts, staging_);
  } catch (const error& why) {
    throw_error(why.code(), fmt::format("changed remote memory ({}) cannot be written back: {}",
                                        place_of(parts.front().offset / page_bytes), why.message()));
  }
}

// --- children ---

const std::byte* program_memory::bytes_of(const frame& of) const {
  const auto& aside = slots_[cache_.number_of(of)].aside;
  return aside != nullptr ? aside.get() : own_page(of.page);
}

const std::byte* program_memory::content_of(std::uint64_t page) {
  if (const frame* const found = cache_.frame_at(page)) return bytes_of(*found);
  if (!is_stored_[page]) return zeros.data();
  staging_.resize(page_bytes);
  if (servers_) {
    std::memcpy(staging_.data(), servers_page(page), page_bytes);
    cache_.server().check(*servers_);
    return staging_.data();
  }
  cache_.server().read(of_, page * page_bytes, staging_);
  return staging_.data();
}

// Gives the page to each child that holds it and has no copy yet, since it is about to change.
void program_memory::preserve(std::uint64_t page) {
  if (holders_ == 0) return;
  for (auto& [number, each] : processes_) {
    if (!each.held.has(page)) continue;
    if (each.faults.copy(each.address(page), content_of(page), page_bytes, false) > 0) ++counts_.copied_pages;
  }
}

void program_memory::hand_over(std::uint64_t first, std::uint64_t end) {
  if (holders_ == 0) return;
  for (std::uint64_t page = first; page < end; ++page) preserve(page);
}

program_statistics program_memory::counted() const {
  program_statistics now = counts_;
  const region_statistics& of_cache = cache_.counts;
  now.missing = of_cache.missing;
  now.seen = of_cache.seen;
  now.first_writes = of_cache.first_writes;
  now.fetched_pages = of_cache.fetched_pages;
  now.prefetched_pages = of_cache.prefetched_pages;
  now.evicted_pages = of_cache.evicted_pages;
  now.written_pages = of_cache.written_pages;
  return now;
}

}  // namespace situ::rmem::detail
