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
constexpr std::uint64_t most_opened_at_once = 32;
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

}  // namespace

program_memory::program_memory(client through, const capability& of, std::uint64_t local_bytes)
    : client_{std::move(through)},
      of_{of},
      servers_{client_.map(of)},
      pages_{of.bytes / page_bytes},
      budget_pages_{local_bytes / page_bytes},
      file_{memory_file("situ-rmem", pages_ * page_bytes)},
      own_{file_.descriptor(), pages_ * page_bytes, PROT_READ | PROT_WRITE},
      frame_of_page_{zeroed<std::uint32_t>(pages_)},
      owner_of_page_{zeroed<std::uint32_t>(pages_)},
      is_stored_{zeroed<bool>(pages_)},
      ahead_{prefetch::majority, static_cast<std::uint32_t>(std::min(most_ahead, budget_pages_ / 8))} {
  if (budget_pages_ < least_local_pages)
    throw_error(
        errc::bad_argument,
        fmt::format("a program's remote memory needs a budget of {} or more here, for the pages that come and go "
                    "together; not {}",
                    format_bytes(least_local_pages * page_bytes), format_bytes(local_bytes)));
  const auto most_frames = static_cast<std::uint32_t>(std::min(budget_pages_, pages_));
  frames_.resize(most_frames);
  for (frame_number each = most_frames; each-- > 0;) empty_frames_.push_back(each);
  policy_ = make_replacement_policy(replacement::s3_fifo, most_frames);
  free_.add(0, pages_);
  counts_.is_mapped = servers_.has_value();
}

program_memory::frame* program_memory::frame_at(std::uint64_t page) noexcept {
  const std::uint32_t number = frame_of_page_[page];
  return number == 0 ? nullptr : &frames_[number - 1];
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
    for (std::uint64_t page = first; page < end; ++page) {
      owner_of_page_[page] = 0;
      if (frame* const each = frame_at(page)) each->is_mapped = each->is_open = false;
    }
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
  its.owned.for_each_run_in(first, end, [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t page = from; page < to; ++page) {
      owner_of_page_[page] = 0;
      if (frame* const each = frame_at(page)) each->is_mapped = each->is_open = false;
    }
  });
  page_set both;
  for (page_set* each : {&its.owned, &its.held})
    each->for_each_run_in(first, end, [&](std::uint64_t from, std::uint64_t to) { both.add(from, to); });
  its.owned.remove(first, end);
  const bool held_some = !its.held.empty();
  its.held.remove(first, end);
  if (held_some && its.held.empty()) --holders_;
  both.for_each_run([&](std::uint64_t from, std::uint64_t to) { release_unused(from, to); });
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
  std::vector<std::uint64_t> in_file;
  for (std::uint64_t page = first; page < end; ++page) {
    is_stored_[page] = false;
    frame* const each = frame_at(page);
    if (each == nullptr) continue;
    if (each->aside == nullptr) in_file.push_back(page);
    const auto number = static_cast<frame_number>(each - frames_.data());
    policy_->gone(number);
    *each = {};
    frame_of_page_[page] = 0;
    empty_frames_.push_back(number);
  }
  punch(in_file);
}

void program_memory::freeze(process_number which) {
  process& its = processes_.at(which);
  its.is_frozen = true;
  std::vector<std::uint64_t> open;
  for (frame& each : frames_) {
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
  frame* const found = frame_at(page);
  if (found == nullptr) return serve_missing(of, page, is_write);
  if (found->is_mapped) {
    if (is_write && !found->is_open) return open_from(of, page);
    // Another thread's touch has had it mapped, or the kernel has unmapped it.
    return map(of, std::array{page}, found->is_open);
  }
  ++counts_.seen;
  policy_->touched(static_cast<frame_number>(found - frames_.data()));
  if (found->aside != nullptr) {
    std::memcpy(own_page(page), found->aside.get(), page_bytes);
    found->aside = nullptr;
  }
  const bool was_mark = std::exchange(found->is_mark, false);
  map(of, std::array{page}, is_write);
  if (was_mark) fetch_ahead(of, page);
}

// Returns the pages to fetch in addition: absent, and all blank or all stored.
std::vector<std::uint64_t> program_memory::coming_along(const process& of, std::uint64_t page, bool is_mark) {
  const page_run run = ahead_.after(page, is_mark);
  std::vector<std::uint64_t> pages;
  for (std::int64_t i = 0; i < run.count; ++i) {
    const auto each = static_cast<std::uint64_t>(run.first + i * run.distance);
    if (each < pages_ && each != page && owner_of_page_[each] == of.number && frame_at(each) == nullptr &&
        (pages.empty() || is_stored_[each] == is_stored_[pages.front()]))
      pages.push_back(each);
  }
  return pages;
}

void program_memory::serve_missing(process& of, std::uint64_t page, bool is_write) {
  std::vector<std::uint64_t> pages = coming_along(of, page, false);
  if (!pages.empty() && is_stored_[pages.front()] != is_stored_[page]) pages.clear();
  counts_.prefetched_pages += pages.size();
  pages.push_back(page);
  const std::uint64_t mark = pages[(pages.size() - 1) / 2];
  std::sort(pages.begin(), pages.end());
  if (is_stored_[page]) ++counts_.missing;
  bring(pages);
  if (mark != page && pages.size() >= 3) {
    frame_at(mark)->is_mark = true;
    std::erase(pages, mark);
  }
  // A blank page next to a written page will probably be written, too; a stored page waits for its first write.
  const bool all_for_writing = is_write && !is_stored_[page];
  if (is_write && !all_for_writing) {
    map(of, std::array{page}, true);
    std::erase(pages, page);
  }
  if (!pages.empty()) map(of, pages, all_for_writing);
}

void program_memory::fetch_ahead(process& of, std::uint64_t page) {
  std::vector<std::uint64_t> pages = coming_along(of, page, true);
  if (pages.empty()) return;
  const std::uint64_t mark = pages[pages.size() / 2];
  const bool is_blank = !is_stored_[pages.front()];
  std::sort(pages.begin(), pages.end());
  bring(pages);
  counts_.prefetched_pages += pages.size();
  frame_at(mark)->is_mark = true;
  std::erase(pages, mark);
  const frame* const before = frame_at(page);
  if (!pages.empty()) map(of, pages, is_blank && before != nullptr && before->is_open);
}

// Gives a child a page as private memory of its own.
void program_memory::serve_copy(process& to, std::uint64_t page) {
  const bool is_held = to.held.has(page);
  if (is_held) ++counts_.copied_pages;
  (void)to.faults.copy(to.address(page), is_held ? content_of(page) : zeros.data(), page_bytes, false);
}

// --- fetching ---

// Brings pages into frames. pre: they are absent, in ascending order, and all blank or all stored.
void program_memory::bring(std::span<const std::uint64_t> pages) {
  make_room(pages.size());
  // One call for each run replaces a fault for each page.
  for_each_run(pages, [&](std::uint64_t first, std::uint64_t end) {
    if (end - first > 1) (void)::madvise(own_page(first), (end - first) * page_bytes, MADV_POPULATE_WRITE);
  });
  if (is_stored_[pages.front()]) {
    read_pages(pages);
    counts_.fetched_pages += pages.size();
  } else {
    for (const std::uint64_t each : pages) *static_cast<volatile std::byte*>(own_page(each)) = std::byte{0};
    counts_.blank_pages += pages.size();
  }
  for (const std::uint64_t each : pages) {
    const frame_number number = empty_frames_.back();
    empty_frames_.pop_back();
    frames_[number].page = each;
    policy_->came(number, each);
    frame_of_page_[each] = number + 1;
  }
  counts_.local_most_bytes =
      std::max<std::uint64_t>(counts_.local_most_bytes, (frames_.size() - empty_frames_.size()) * page_bytes);
}

// Reads pages: adjacent ones straight to their place, others by one request for all.
void program_memory::read_pages(std::span<const std::uint64_t> pages) {
  if (servers_) {
    for (const std::uint64_t each : pages) std::memcpy(own_page(each), servers_page(each), page_bytes);
    return client_.check(*servers_);
  }
  const std::uint64_t first = pages.front();
  if (pages.back() - first + 1 == pages.size())
    return client_.read(of_, first * page_bytes, {own_page(first), pages.size() * page_bytes});
  std::vector<remote_part> parts;
  for_each_run(pages, [&](std::uint64_t from, std::uint64_t to) {
    parts.push_back({from * page_bytes, (to - from) * page_bytes});
  });
  staging_.resize(pages.size() * page_bytes);
  client_.gather(of_, parts, staging_);
  const std::byte* from = staging_.data();
  for (const std::uint64_t each : pages) {
    std::memcpy(own_page(each), from, page_bytes);
    from += page_bytes;
  }
}

// Maps pages for their owner. pre: they are in frames and in the file, in ascending order.
void program_memory::map(process& of, std::span<const std::uint64_t> pages, bool for_writing) {
  const bool opens = for_writing || !maps_protected_;
  if (opens && of.is_frozen) {  // a reading thread waits only if the kernel maps pages for writing only
    of.waiting.insert(of.waiting.end(), pages.begin(), pages.end());
    return;
  }
  for (const std::uint64_t each : pages) {
    frame& one = *frame_at(each);
    one.is_mapped = true;
    if (!opens || one.is_open) continue;
    preserve(each);
    if (!std::exchange(one.is_changed, true)) ++counts_.first_writes;
    one.is_open = true;
  }
  bool is_done = true;
  for_each_run(pages, [&](std::uint64_t first, std::uint64_t end) {
    is_done = of.faults.map(of.address(first), (end - first) * page_bytes, !opens) && is_done;
  });
  if (is_done || opens) return;
  // This kernel maps pages for writing only: each counts as dirty from now on.
  maps_protected_ = false;
  map(of, pages, true);
}

// Serves the first write of a mapped page. If the page before it is open, writes to the following pages are likely:
// twice as many as last time are opened as well, each saving a fault of some microseconds.
void program_memory::open_from(process& of, std::uint64_t page) {
  if (of.is_frozen) {
    of.waiting.push_back(page);
    return;
  }
  const frame* const before = page > 0 ? frame_at(page - 1) : nullptr;
  open_run_ = before != nullptr && before->is_open ? std::min(2 * open_run_, most_opened_at_once) : 1;
  std::uint64_t end = page;
  for (; end < pages_ && end < page + open_run_; ++end) {
    frame* const each = frame_at(end);
    if (each == nullptr || owner_of_page_[end] != of.number || !each->is_mapped || each->is_open) break;
    preserve(end);
    if (!std::exchange(each->is_changed, true)) ++counts_.first_writes;
    each->is_open = true;
  }
  of.faults.allow_writes(of.address(page), (end - page) * page_bytes);
}

// --- children ---

const std::byte* program_memory::content_of(std::uint64_t page) {
  if (const frame* const found = frame_at(page)) return found->aside != nullptr ? found->aside.get() : own_page(page);
  if (!is_stored_[page]) return zeros.data();
  staging_.resize(page_bytes);
  if (servers_) {
    std::memcpy(staging_.data(), servers_page(page), page_bytes);
    client_.check(*servers_);
    return staging_.data();
  }
  client_.read(of_, page * page_bytes, staging_);
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

// --- eviction ---

void program_memory::make_room(std::uint64_t pages) {
  while (empty_frames_.size() < pages) evict_some(std::max(pages - empty_frames_.size(), most_going_at_once));
}

bool program_memory::work_ahead() {
  const std::uint64_t wanted = std::min<std::uint64_t>(2 * most_going_at_once, frames_.size() / 16);
  if (empty_frames_.size() >= wanted) return false;
  evict_some(most_going_at_once);
  return true;
}

void program_memory::evict_some(std::uint64_t wanted) {
  std::vector<frame_number> victims;
  std::vector<frame_number> watch;
  while (victims.size() < wanted) {
    const frame_number victim = policy_->choose([](frame_number) { return true; }, watch);
    if (victim == replacement_policy::none) break;
    policy_->gone(victim);
    victims.push_back(victim);
  }
  std::vector<bool> goes(frames_.size());
  for (const frame_number each : victims) goes[each] = true;
  std::erase_if(watch, [&](frame_number each) { return goes[each] || frames_[each].aside != nullptr; });
  set_aside(watch);
  std::vector<std::uint64_t> in_file;
  std::vector<frame_number> changed;
  for (const frame_number each : victims) {
    if (frames_[each].aside == nullptr) in_file.push_back(frames_[each].page);
    if (frames_[each].is_changed) changed.push_back(each);
  }
  write_changed(changed);
  std::sort(in_file.begin(), in_file.end());
  punch(in_file);
  for (const frame_number each : victims) {
    frame_of_page_[frames_[each].page] = 0;
    frames_[each] = {};
    empty_frames_.push_back(each);
  }
  counts_.evicted_pages += victims.size();
}

void program_memory::punch(std::span<const std::uint64_t> pages) {
  for_each_run(pages, [&](std::uint64_t first, std::uint64_t end) {
    (void)::fallocate(file_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(first * page_bytes), static_cast<off_t>((end - first) * page_bytes));
  });
}

// Moves pages out of the file, so that the next touch is reported. Invariant 2.
void program_memory::set_aside(std::span<const frame_number> which) {
  std::vector<std::uint64_t> pages;
  for (const frame_number number : which) {
    frame& each = frames_[number];
    if (each.is_open) {
      process* const its = owner_of(each.page);
      if (its != nullptr) its->faults.protect(its->address(each.page), page_bytes);
    }
    each.aside = std::make_unique_for_overwrite<std::byte[]>(page_bytes);
    std::memcpy(each.aside.get(), own_page(each.page), page_bytes);
    each.is_mapped = each.is_open = false;
    pages.push_back(each.page);
  }
  std::sort(pages.begin(), pages.end());
  punch(pages);
}

// Writes dirty pages to the server, except pages of zeros, which become blank.
void program_memory::write_changed(std::span<const frame_number> which) {
  std::vector<std::pair<std::uint64_t, frame_number>> ordered;
  for (const frame_number each : which) ordered.emplace_back(frames_[each].page, each);
  std::sort(ordered.begin(), ordered.end());
  std::vector<remote_part> parts;
  staging_.clear();
  for (const auto& [page, number] : ordered) {
    const frame& each = frames_[number];
    if (each.is_open) {
      process* const its = owner_of(page);
      if (its != nullptr) its->faults.protect(its->address(page), page_bytes);
    }
    const std::byte* const now = each.aside != nullptr ? each.aside.get() : own_page(page);
    is_stored_[page] = !is_zero(now);
    if (!is_stored_[page]) continue;
    ++counts_.written_pages;
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
      client_.check(*servers_);
    else
      client_.scatter(of_, parts, staging_);
  } catch (const error& why) {
    throw_error(why.code(), fmt::format("changed remote memory ({}) cannot be written back: {}",
                                        place_of(parts.front().offset / page_bytes), why.message()));
  }
}

program_statistics program_memory::counted() const { return counts_; }

}  // namespace situ::rmem::detail
