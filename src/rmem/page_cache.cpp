#include "rmem/page_cache.h"

#include <situ/base/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "os/host.h"
#include "rmem/page_set.h"
#include "rmem/protocol.h"

namespace situ::rmem::detail {
namespace {

using situ::detail::page_bytes;

constexpr std::size_t most_written_at_once = 256;
constexpr std::uint64_t most_opened_at_once = 32;

// The fewest pages, the touched one among them, of a run that gets a mark.
constexpr std::size_t least_with_mark = 3;

// Returns the middle page of a run, or the one behind it if that is the touched page; no_page of a short run.
std::uint64_t middle_with(std::uint64_t touched, const std::vector<std::uint64_t>& run) {
  if (run.size() < least_with_mark) return page_cache::no_page;
  const std::size_t middle = run.size() / 2;
  return run[middle] != touched ? run[middle] : run[middle + 1];
}

bool are_adjacent(page_cache::page_list all) { return !all.empty() && all.back() - all.front() == all.size() - 1; }

}  // namespace

page_cache::page_cache(front& with, client through, const capability& of, const settings& how)
    : front_{with},
      client_{std::move(through)},
      of_{of},
      settings_{how},
      pages_{(of.bytes + page_bytes - 1) / page_bytes},
      frames_(std::min(how.budget_pages, pages_)),
      frame_of_page_{static_cast<std::atomic<std::uint32_t>*>(std::calloc(pages_, sizeof(std::uint32_t))), std::free},
      ahead_{how.ahead, how.most_ahead} {
  if (frame_of_page_ == nullptr)
    throw_error(errc::out_of_memory, fmt::format("no memory for a table of {} pages", pages_));
  const auto most_frames = static_cast<std::uint32_t>(frames_.size());
  for (frame_number each = most_frames; each-- > 0;) empty_frames_.push_back(each);
  policy_ = make_replacement_policy(how.replace, most_frames);
}

page_cache::frame* page_cache::frame_at(std::uint64_t page) noexcept {
  const std::uint32_t number = frame_of_page_[page].load(std::memory_order_relaxed);
  return number == 0 ? nullptr : &frames_[number - 1];
}
std::uint64_t page_cache::bytes_of_page(std::uint64_t page) const noexcept {
  return std::min<std::uint64_t>(page_bytes, of_.bytes - page * page_bytes);
}
std::vector<page_cache::held> page_cache::held_by(std::span<const frame_number> which) const {
  std::vector<held> all;
  for (const frame_number each : which) all.push_back({frames_[each].page, each});
  std::sort(all.begin(), all.end(), [](const held& a, const held& b) { return a.page < b.page; });
  return all;
}

// --- touches ---

bool page_cache::touch(std::uint64_t page, bool is_write) {
  frame* const found = frame_at(page);
  if (found == nullptr) {
    fetch_touched(page, is_write);
    return false;
  }
  ++counts.seen;
  policy_->touched(number_of(*found));
  const bool was_mark = std::exchange(found->is_mark, false);
  if (!is_write || open(*found)) map_touched(std::array{page}, page);
  return was_mark;
}

void page_cache::fetch_touched(std::uint64_t page, bool is_write) {
  const bool is_blank = front_.is_blank(page);
  if (!is_blank) ++counts.missing;
  run all;
  if (coming_ && page >= coming_->pages.front() && page <= coming_->pages.back()) {
    all = {coming_->pages, middle_with(page, coming_->pages)};  // the program was faster than the mark before it
  } else {
    all = run_after(page, false);
  }
  try {
    fetch(all.pages, all.mark);
  } catch (const error&) {
    if (all.pages.size() == 1 || !settings_.forgives_read_ahead) throw;
    all = {{page}, no_page};
    fetch(all.pages, no_page);
  }
  counts.prefetched_pages += all.pages.size() - 1;
  if (all.mark != no_page) set_mark(all);
  // A blank page next to a written page will probably be written, too; a stored page waits for its first write.
  if (is_write && is_blank)
    open_all(all.pages);
  else if (is_write && !open(*frame_at(page)))
    std::erase(all.pages, page);
  map_touched(all.pages, page);
}

void page_cache::fetch_ahead(std::uint64_t touched) {
  run all;
  if (coming_ && coming_->mark == touched)
    all = {coming_->pages, coming_->pages[coming_->pages.size() / 2]};
  else
    all = run_after(touched, true);
  if (all.pages.empty()) return;
  const bool are_blank = front_.is_blank(all.pages.front());
  try {
    fetch(all.pages, all.mark);
  } catch (const error&) {
    if (!settings_.forgives_read_ahead) throw;
    return;  // a touch of these pages reports the error
  }
  counts.prefetched_pages += all.pages.size();
  set_mark(all);
  if (const frame* const before = frame_at(touched); are_blank && before != nullptr && before->is_open)
    open_all(all.pages);
  (void)map(all.pages);
}

// Returns the pages to fetch with a touched page, and that page itself unless it is a mark, which is here.
page_cache::run page_cache::run_after(std::uint64_t page, bool is_mark) {
  run all{absent_pages(ahead_.after(page, is_mark), page), no_page};
  std::vector<std::uint64_t>& pages = all.pages;
  if (!is_mark && !pages.empty() && front_.is_blank(pages.front()) != front_.is_blank(page)) pages.clear();
  if (!pages.empty()) all.mark = pages[pages.size() / 2];
  if (!is_mark) pages.push_back(page);
  std::sort(pages.begin(), pages.end());
  if (!is_mark && pages.size() < least_with_mark) all.mark = no_page;
  if (all.mark != no_page && settings_.mark == middle::by_address)
    all.mark = is_mark ? pages[pages.size() / 2] : middle_with(page, pages);
  return all;
}

// Returns the pages of a run that may be fetched together, in the order of the stream.
std::vector<std::uint64_t> page_cache::absent_pages(const page_run& of, std::uint64_t touched) const {
  std::vector<std::uint64_t> pages;
  for (std::int64_t i = 0; i < of.count; ++i) {
    const auto each = static_cast<std::uint64_t>(of.first + i * of.distance);
    if (each < pages_ && each != touched && !is_here(each) && front_.may_join(touched, each) &&
        (pages.empty() || front_.is_blank(each) == front_.is_blank(pages.front())))
      pages.push_back(each);
  }
  return pages;
}

void page_cache::set_mark(run& of) {
  frame_at(of.mark)->is_mark = true;
  std::erase(of.pages, of.mark);
}

// Opens pages, and removes those that the front refuses to open.
void page_cache::open_all(std::vector<std::uint64_t>& pages) {
  std::erase_if(pages, [&](std::uint64_t each) { return !open(*frame_at(each)); });
}

bool page_cache::open(frame& of) {
  if (of.is_open) return true;
  if (!front_.before_write(of)) return false;
  if (!std::exchange(of.is_changed, true)) ++counts.first_writes;
  return of.is_open = true;
}
void page_cache::note_written(frame& of) {
  of.is_changed = of.is_open = true;
  ++counts.first_writes;
}

void page_cache::open_from(std::uint64_t page) {
  const frame* const before = page > 0 ? frame_at(page - 1) : nullptr;
  write_run_ = before != nullptr && before->is_open ? std::min(2 * write_run_, most_opened_at_once) : 1;
  std::uint64_t end = page;
  for (; end < pages_ && end < page + write_run_; ++end) {
    frame* const each = frame_at(end);
    if (each == nullptr || !front_.is_mapped(number_of(*each))) break;
    if (end > page && (each->is_open || !front_.may_join(page, end))) break;
    if (!open(*each)) break;
  }
  // A page that must not be opened was given back meanwhile: the thread that waits for it is woken, and tries again.
  front_.allow_writes(page, std::max(end, page + 1));
}

bool page_cache::map(page_list pages) {
  if (settings_.may_write && !tracks_writes_)
    for (const std::uint64_t each : pages)
      if (frame* const one = frame_at(each)) (void)open(*one);
  std::vector<held> writable;
  std::vector<held> clean;
  for (const std::uint64_t each : pages) {
    const frame* const one = frame_at(each);
    if (one == nullptr) continue;  // evicted, to make room for a copy of another page
    if (one->is_open || !settings_.may_write)
      writable.push_back(held_by(*one));
    else if (tracks_writes_)  // otherwise the front has refused to open it
      clean.push_back(held_by(*one));
  }
  const bool are_mapped = writable.empty() || front_.map(writable, false) == page_store::outcome::all;
  if (clean.empty()) return are_mapped;
  const page_store::outcome got = front_.map(clean, true);
  if (got != page_store::outcome::cannot_protect) return got == page_store::outcome::all && are_mapped;
  // This kernel maps pages for writing only: each counts as dirty from now on, and is compared when it is evicted.
  tracks_writes_ = false;
  std::vector<std::uint64_t> again;
  for (const held& each : clean) again.push_back(each.page);
  return map(again) && are_mapped;
}

void page_cache::map_touched(page_list pages, std::uint64_t touched) {
  frame* const one = frame_at(touched);
  if (one == nullptr) return (void)map(pages);
  // Opening the other pages may need room: it must not be that of the page which a thread waits for.
  struct pinned {
    frame& what;
    ~pinned() { --what.pins; }
  };
  ++one->pins;
  const pinned held{*one};
  if (!map(pages) && !front_.is_mapped(number_of(*one)))
    throw_error(errc::not_supported, "the kernel does not map it; pages of a region cannot be locked (mlock)");
}

// --- fetching ---

void page_cache::fetch(page_list pages, std::uint64_t mark) {
  make_room(pages.size());
  const bool are_blank = front_.is_blank(pages.front());
  const std::vector<held> taken = take_frames(pages);
  try {
    front_.fetch(taken);
  } catch (...) {
    for (const held& each : taken) empty_frames_.push_back(each.frame);
    throw;
  }
  for (const auto& [page, number] : taken) {
    frames_[number].page = page;
    policy_->came(number, page);
    frame_of_page_[page].store(number + 1, std::memory_order_release);
  }
  if (!are_blank) counts.fetched_pages += pages.size();
  if (mark != no_page && settings_.requests_beyond) request_beyond(mark, pages);
}

// Takes empty frames, in ascending order: adjacent ones are moved together later.
std::vector<page_cache::held> page_cache::take_frames(page_list pages) {
  const auto begin = empty_frames_.end() - static_cast<std::ptrdiff_t>(pages.size());
  std::sort(begin, empty_frames_.end());
  std::vector<held> taken;
  for (std::size_t i = 0; i < pages.size(); ++i) taken.push_back({pages[i], begin[static_cast<std::ptrdiff_t>(i)]});
  empty_frames_.erase(begin, empty_frames_.end());
  return taken;
}

void page_cache::read(page_list pages, std::span<std::byte> to) {
  std::vector<remote_part> parts;
  std::uint64_t all = 0;
  for_each_run(pages, [&](std::uint64_t first, std::uint64_t end) {
    const std::uint64_t bytes = (end - 1 - first) * page_bytes + bytes_of_page(end - 1);
    parts.push_back({first * page_bytes, bytes});
    all += bytes;
  });
  if (parts.size() == 1)
    client_.read(of_, parts.front().offset, to.first(all));
  else
    client_.gather(of_, parts, to.first(all));
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(all), to.end(), std::byte{0});
}

void page_cache::read(page_list pages, std::vector<std::byte>& to) {
  if (take_coming(pages, to)) return;
  to.resize(pages.size() * page_bytes);
  read(pages, std::span{to});
}

// --- the run beyond ---

bool page_cache::take_coming(page_list pages, std::vector<std::byte>& to) {
  if (!coming_ || pages.front() > coming_->pages.back() || pages.back() < coming_->pages.front()) return false;
  receive_coming();
  if (!coming_) return false;
  const bool is_that = std::equal(pages.begin(), pages.end(), coming_->pages.begin(), coming_->pages.end());
  if (is_that) std::swap(to, beyond_);
  coming_.reset();
  return is_that;
}

// Requests the run behind the one just fetched, if the pages of both are adjacent; `mark` is the mark of the latter.
void page_cache::request_beyond(std::uint64_t mark, page_list pages) {
  if (pages.size() < ahead_.most_pages() || !are_adjacent(pages)) return;
  if (coming_ && !std::exchange(coming_->was_passed_over, true)) return;
  discard_coming();
  const read_ahead before = ahead_;
  std::vector<std::uint64_t> beyond = run_after(mark, true).pages;
  if (are_adjacent(beyond) && beyond.size() * page_bytes <= most_transfer) {
    const std::uint64_t bytes = (beyond.size() - 1) * page_bytes + bytes_of_page(beyond.back());
    beyond_.resize(beyond.size() * page_bytes);
    std::fill(beyond_.begin() + static_cast<std::ptrdiff_t>(bytes), beyond_.end(), std::byte{0});
    try {
      client_.start_read(of_, beyond.front() * page_bytes, std::span{beyond_}.first(bytes));
      coming_ = coming_run{.mark = mark, .pages = std::move(beyond)};
      return;
    } catch (const error&) {  // a touch of these pages reports the error
    }
  }
  ahead_ = before;  // the touch of the mark requests the run
}

void page_cache::receive_coming() {
  if (!is_receiving()) return;
  if (client_.finish_read(of_))
    coming_->is_here = true;
  else
    coming_.reset();
}

void page_cache::discard_coming() {
  receive_coming();
  coming_.reset();
}

// --- room ---

void page_cache::make_room(std::uint64_t pages) {
  const auto missing = [&] {
    const std::uint64_t used = used_frames() + copies_;
    return std::max<std::uint64_t>(used + pages > settings_.budget_pages ? used + pages - settings_.budget_pages : 0,
                                   pages > empty_frames_.size() ? pages - empty_frames_.size() : 0);
  };
  while (const std::uint64_t wanted = missing())
    if (!evict_some(std::max(wanted, settings_.least_evicted_at_once)))
      throw_error(errc::out_of_memory,
                  fmt::format("the region's budget is {} pages, {} of them are pinned, and {} more are needed",
                              settings_.budget_pages, pinned_pages_, pages));
}

bool page_cache::make_room_ahead() {
  if (empty_frames_.size() >= std::min<std::uint64_t>(2 * settings_.least_evicted_at_once, frames_.size() / 16))
    return false;
  (void)evict_some(settings_.least_evicted_at_once);
  return true;
}

// Evicts pages until `wanted` pages and copies are gone, and has others watched. Returns false if none may be evicted.
bool page_cache::evict_some(std::uint64_t wanted) {
  std::vector<frame_number> victims;
  std::vector<frame_number> watch;
  const auto may = [&](frame_number each) { return frames_[each].pins == 0; };
  std::uint64_t freed = 0;
  while (freed < wanted) {
    const frame_number victim = policy_->choose(may, watch);
    if (victim == replacement_policy::none) break;
    policy_->gone(victim);
    victims.push_back(victim);
    freed += frames_[victim].copy != nullptr ? 2 : 1;
  }
  std::vector<frame_number> sorted = victims;
  std::sort(sorted.begin(), sorted.end());
  std::erase_if(watch, [&](frame_number each) {
    return std::binary_search(sorted.begin(), sorted.end(), each) || frames_[each].pins > 0;
  });
  front_.unmap(held_by(watch));
  if (victims.empty()) return false;
  evict(victims);
  return true;
}

void page_cache::evict_all() {
  std::vector<bool> is_empty(frames_.size());
  for (const frame_number each : empty_frames_) is_empty[each] = true;
  std::vector<frame_number> victims;
  for (frame_number each = 0; each < frames_.size(); ++each)
    if (!is_empty[each] && frames_[each].pins == 0) victims.push_back(each);
  for (const frame_number each : victims) policy_->gone(each);
  evict(victims);
}

// Writes victims back and releases their frames. pre: the policy has removed them.
void page_cache::evict(std::span<const frame_number> victims) {
  try {
    std::vector<frame_number> dirty;
    std::copy_if(victims.begin(), victims.end(), std::back_inserter(dirty),
                 [&](frame_number each) { return frames_[each].is_changed; });
    write_back(dirty);
  } catch (...) {
    for (const frame_number each : victims) policy_->came(each, frames_[each].page);
    throw;
  }
  front_.drop(held_by(victims));
  for (const frame_number each : victims) release(each);
  counts.evicted_pages += victims.size();
}

void page_cache::release(frame_number which) {
  frame_of_page_[frames_[which].page].store(0, std::memory_order_release);
  frames_[which] = {};
  empty_frames_.push_back(which);
}

void page_cache::forget(frame& of) {
  policy_->gone(number_of(of));
  drop_copy(of);
  if (of.pins > 0) --pinned_pages_;
  release(number_of(of));
}

void page_cache::keep_copy(frame& of, std::unique_ptr<std::byte[]> copy) {
  of.copy = std::move(copy);
  ++copies_;
}
void page_cache::drop_copy(frame& of) noexcept {
  if (std::exchange(of.copy, nullptr) != nullptr) --copies_;
}

// --- writing back ---

std::vector<page_cache::frame_number> page_cache::changed() const {
  std::vector<frame_number> all;
  for (frame_number each = 0; each < frames_.size(); ++each)
    if (frames_[each].is_changed) all.push_back(each);
  std::sort(all.begin(), all.end(), [&](frame_number a, frame_number b) { return frames_[a].page < frames_[b].page; });
  return all;
}

void page_cache::write_back(std::span<const frame_number> which) {
  for (; !which.empty(); which = which.subspan(std::min(most_written_at_once, which.size()))) {
    const auto some = which.first(std::min(most_written_at_once, which.size()));
    front_.write(some);
    for (const frame_number each : some) {
      if (frames_[each].pins > 0) continue;  // it may be written at any time, unreported: it stays dirty
      drop_copy(frames_[each]);
      frames_[each].is_changed = frames_[each].is_open = false;
    }
  }
}

}  // namespace situ::rmem::detail
