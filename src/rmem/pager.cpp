#include "rmem/pager.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/racing_reads.h"
#include "os/descriptor.h"
#include "os/host.h"
#include "rmem/protocol.h"

namespace situ::rmem::detail {
namespace {

using situ::detail::page_bytes;

constexpr std::uint64_t least_budget_pages = 16;
constexpr std::size_t most_written_at_once = 256;
constexpr std::uint64_t most_evicted_at_once = 16;
constexpr std::uint64_t most_noted_at_once = 32;
constexpr std::uint64_t no_page = ~std::uint64_t{0};

void demand(bool holds, const std::string& otherwise) {
  if (!holds) throw_error(errc::bad_argument, otherwise);
}

// Appends the ranges in which two pages differ, each as long as possible.
void append_differences(const std::byte* now, const std::byte* before, std::uint64_t bytes, std::uint64_t offset,
                        std::vector<remote_part>& parts, std::vector<std::byte>& data) {
  std::uint64_t at = 0;
  while (at < bytes) {
    while (at + 8 <= bytes && std::memcmp(now + at, before + at, 8) == 0) at += 8;
    while (at < bytes && now[at] == before[at]) ++at;
    const std::uint64_t begin = at;
    while (at < bytes && now[at] != before[at]) ++at;
    if (begin == at) continue;
    parts.push_back({offset + begin, at - begin});
    data.insert(data.end(), now + begin, now + at);
  }
}

thread_local const pager* working_here = nullptr;

}  // namespace

// Holds the lock of a pager's state, and marks this thread as working on it.
class pager::work {
 public:
  explicit work(pager& on) : held_{on.working_} { working_here = &on; }
  ~work() { working_here = nullptr; }
  work(const work&) = delete;
  work& operator=(const work&) = delete;

 private:
  std::lock_guard<std::mutex> held_;
};

pager::pager(client through, const capability& of, const region_options& options)
    : client_{std::move(through)},
      of_{of},
      options_{options},
      pages_{(of.bytes + page_bytes - 1) / page_bytes},
      budget_pages_{options.local_bytes / page_bytes},
      may_write_{includes(of.may, rights::write)},
      faults_{options.fetches == fetcher::toucher ? user_faults::told::by_signal : user_faults::told::by_descriptor},
      store_{make_page_store(faults_, pages_, static_cast<std::uint32_t>(std::min(budget_pages_, pages_)), may_write_)},
      bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      territory_{store_->program(), pages_ * page_bytes, may_write_ ? PROT_READ | PROT_WRITE : PROT_READ,
                 options.fetches == fetcher::toucher ? [this](const user_fault& touch) { return serve_here(touch); }
                                                     : territory::server{}},
      frame_of_page_{static_cast<std::atomic<std::uint32_t>*>(std::calloc(pages_, sizeof(std::uint32_t))), std::free},
      ahead_{options.ahead,
             static_cast<std::uint32_t>(std::min<std::uint64_t>(options.prefetch_pages, budget_pages_ / 4))} {
  demand(budget_pages_ >= least_budget_pages,
         fmt::format("the budget of a region is 16 pages of 4096 bytes or more, not {} bytes", options.local_bytes));
  demand(options.prefetch_pages > 0, "prefetch_pages is 1 or more; prefetch::none fetches nothing ahead");
  if (!includes(of.may, rights::read))
    throw_error(errc::access_denied, "a region fetches its pages: its capability needs the right to read");
  if (frame_of_page_ == nullptr) throw_error(errc::out_of_memory, "no memory for a table of the region's pages");
  still_mapped_.resize(page_bytes);
  const auto most_frames = static_cast<std::uint32_t>(std::min(budget_pages_, pages_));
  frames_.resize(most_frames);
  for (frame_number each = most_frames; each-- > 0;) empty_frames_.push_back(each);
  policy_ = make_replacement_policy(options.replace, most_frames);
  thread_ = os::worker{[this](const std::stop_token& stop) { run(stop); }};
}

pager::~pager() {
  thread_.request_stop();
  (void)::eventfd_write(bell_.number(), 1);
}

pager::frame_number pager::number_of(const frame& of) const noexcept {
  return static_cast<frame_number>(&of - frames_.data());
}
std::byte* pager::program_page(std::uint64_t page) const noexcept { return store_->program() + page * page_bytes; }
std::uint64_t pager::bytes_of_page(std::uint64_t page) const noexcept {
  return std::min<std::uint64_t>(page_bytes, of_.bytes - page * page_bytes);
}
pager::frame* pager::frame_at(std::uint64_t page) noexcept {
  const std::uint32_t number = frame_of_page_[page].load(std::memory_order_relaxed);
  return number == 0 ? nullptr : &frames_[number - 1];
}

// --- the thread ---

void pager::run(const std::stop_token& stop) {
  pollfd both[2] = {{faults_.descriptor_number(), POLLIN, 0}, {bell_.number(), POLLIN, 0}};
  const auto is_sending = [this] {
    const work held{*this};
    return coming_ && !coming_->is_here;
  };
  while (!stop.stop_requested()) {
    // If no request waits, the thread receives the bytes that the server is sending: the server drops clients that take
    // none.
    const bool comes = is_sending();
    const int found = ::poll(both, 2, comes ? 0 : longest_silence_ms);
    if (found == 0) {
      const work held{*this};
      if (comes)
        take_in_coming();
      else
        client_.keep_alive();
    }
    if (found <= 0) continue;
    if ((both[1].revents & POLLIN) != 0) {
      eventfd_t rung = 0;
      (void)::eventfd_read(bell_.number(), &rung);
      do_requests();
    }
    if ((both[0].revents & POLLIN) == 0) continue;
    if (const std::optional<user_fault> fault = faults_.next()) {
      const work held{*this};
      serve(*fault);
    }
  }
}

// Serves a touch in a handler of SIGBUS. Returns false if the pager itself touches, since it would wait for itself.
bool pager::serve_here(const user_fault& fault) {
  if (working_here == this) return false;
  const work held{*this};
  serve(fault);
  if (coming_ && !coming_->is_here) (void)::eventfd_write(bell_.number(), 1);
  return true;
}

void pager::serve(const user_fault& fault) {
  const std::uint64_t page = (fault.address - reinterpret_cast<std::uintptr_t>(store_->program())) / page_bytes;
  frame* const found = fault.is_protected ? frame_at(page) : frame_here(page);
  if (found == nullptr) return serve_missing(page, fault.is_write);
  try {
    if (!is_mapped(*found)) {
      ++counts_.seen;
      policy_->touched(number_of(*found));
      const bool was_mark = std::exchange(found->is_mark, false);
      if (fault.is_write) (void)note_change(*found);
      map_touched(std::array{page}, page);
      if (!was_mark) return;
      // The touching thread continues in the meantime.
      if (options_.fetches == fetcher::toucher)
        (void)ask([this, page] { fetch_ahead(page); });
      else
        fetch_ahead(page);
    } else if (fault.is_write) {
      note_changes_from(page);
    } else {
      faults_.wake(program_page(page), page_bytes);
    }
  } catch (const error& why) {
    fail_page(page, why);
  }
}

void pager::serve_missing(std::uint64_t page, bool is_write) {
  ++counts_.missing;
  try {
    std::vector<std::uint64_t> pages;
    if (coming_ && page >= coming_->pages.front() && page <= coming_->pages.back()) {
      pages = coming_->pages;  // the program was faster than the mark before it
    } else {
      pages = absent_pages(ahead_.after(page, false));
      if (const auto at = std::lower_bound(pages.begin(), pages.end(), page); at == pages.end() || *at != page)
        pages.insert(at, page);
    }
    std::uint64_t mark = pages.size() >= 3 ? pages[pages.size() / 2] : no_page;
    if (mark == page) mark = pages[pages.size() / 2 + 1];
    try {
      fetch_pages(pages, mark);
    } catch (const error&) {
      if (pages.size() == 1) throw;
      pages = {page};  // a failure to prefetch must not fail the touch
      fetch_pages(pages, no_page);
    }
    counts_.prefetched_pages += pages.size() - 1;
    if (pages.size() > 1 && mark != no_page) {
      frame_at(mark)->is_mark = true;
      std::erase(pages, mark);
    }
    if (is_write) (void)note_change(*frame_at(page));
    map_touched(pages, page);
  } catch (const error& why) {
    fail_page(page, why);
  }
}

// Returns the pages of a run that are within the region and absent, in ascending order.
std::vector<std::uint64_t> pager::absent_pages(const page_run& of) {
  std::vector<std::uint64_t> pages;
  for (std::int64_t i = 0; i < of.count; ++i) {
    const auto each = static_cast<std::uint64_t>(of.first + i * of.distance);
    if (each < pages_ && frame_at(each) == nullptr) pages.push_back(each);
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

void pager::fetch_ahead(std::uint64_t touched) {
  std::vector<std::uint64_t> pages =
      coming_ && coming_->mark == touched ? coming_->pages : absent_pages(ahead_.after(touched, true));
  if (pages.empty()) return;
  const std::uint64_t mark = pages[pages.size() / 2];
  try {
    fetch_pages(pages, mark);
  } catch (const error&) {
    return;  // a touch of these pages reports the error
  }
  counts_.prefetched_pages += pages.size();
  frame_at(mark)->is_mark = true;
  std::erase(pages, mark);
  (void)map_pages(pages);
}

void pager::map_touched(std::span<const std::uint64_t> pages, std::uint64_t touched) {
  if (map_pages(pages)) return;
  if (const frame* const one = frame_at(touched); one != nullptr && !is_mapped(*one))
    throw_error(errc::not_supported, "the kernel does not map it; pages of a region cannot be locked (mlock)");
}

void pager::fail_page(std::uint64_t page, const error& why) {
  // The pager reads mapped pages, and nothing may read this page from now on.
  if (const frame* const one = frame_at(page); one != nullptr && is_mapped(*one)) {
    store_->unmap(std::array{page_store::held{page, number_of(*one)}});
    if (is_mapped(*one)) return faults_.wake(program_page(page), page_bytes);  // a device has it: try again
  }
  territory_.fail(
      program_page(page),
      {why.code(), fmt::format("remote memory at {} (byte {} of the region at {:#x} of server {}) cannot be "
                               "touched: {}",
                               static_cast<const void*>(program_page(page)), page * page_bytes, of_.address,
                               of_.address >> 56, why.message())});
  faults_.wake(program_page(page), page_bytes);
}

// --- fetching ---

// Fetches pages. pre: they are absent and in ascending order. mark: the page whose touch will be reported, or no_page.
void pager::fetch_pages(std::span<const std::uint64_t> pages, std::uint64_t mark) {
  make_room(pages.size(), [](std::uint64_t) { return false; });
  store_->keep();  // the pages of the last fetch that are not mapped
  if (!take_coming(pages)) read_pages(pages);
  const std::vector<page_store::held> taken = take_frames(pages);
  try {
    store_->fill(taken, fetched_.data());
  } catch (...) {
    for (const page_store::held& each : taken) empty_frames_.push_back(each.frame);
    throw;
  }
  for (const auto& [page, number] : taken) {
    frames_[number].page = page;
    policy_->came(number, page);
    frame_of_page_[page].store(number + 1, std::memory_order_release);
  }
  counts_.fetched_pages += pages.size();
  if (mark != no_page) ask_beyond(mark, pages);
}

// Takes empty frames, in ascending order: adjacent ones are moved together later.
std::vector<page_store::held> pager::take_frames(std::span<const std::uint64_t> pages) {
  const auto begin = empty_frames_.end() - static_cast<std::ptrdiff_t>(pages.size());
  std::sort(begin, empty_frames_.end());
  std::vector<page_store::held> taken;
  for (std::size_t i = 0; i < pages.size(); ++i) taken.push_back({pages[i], begin[static_cast<std::ptrdiff_t>(i)]});
  empty_frames_.erase(begin, empty_frames_.end());
  return taken;
}

// Returns the frames with their pages, in the order of the pages.
std::vector<page_store::held> pager::held_by(std::span<const frame_number> which) const {
  std::vector<page_store::held> all;
  for (const frame_number each : which) all.push_back({frames_[each].page, each});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.page < b.page; });
  return all;
}

// Reads pages into fetched_, with a whole page's room for each.
void pager::read_pages(std::span<const std::uint64_t> pages) {
  std::vector<remote_part> parts;
  std::uint64_t all = 0;
  for_each_run(pages, [&](std::uint64_t first, std::uint64_t end) {
    const std::uint64_t bytes = (end - 1 - first) * page_bytes + bytes_of_page(end - 1);
    parts.push_back({first * page_bytes, bytes});
    all += bytes;
  });
  fetched_.resize(pages.size() * page_bytes);
  const std::span<std::byte> to = std::span{fetched_}.first(all);
  if (parts.size() == 1)
    client_.read(of_, parts.front().offset, to);
  else
    client_.gather(of_, parts, to);
  std::fill(fetched_.begin() + static_cast<std::ptrdiff_t>(all), fetched_.end(), std::byte{0});
}

// If these pages are the run requested beyond the last one, receives it into fetched_ and returns true. If they are
// only some of its pages, the run is discarded.
bool pager::take_coming(std::span<const std::uint64_t> pages) {
  if (!coming_ || pages.front() > coming_->pages.back() || pages.back() < coming_->pages.front()) return false;
  take_in_coming();
  if (!coming_) return false;
  const bool is_that = std::equal(pages.begin(), pages.end(), coming_->pages.begin(), coming_->pages.end());
  if (is_that) std::swap(fetched_, beyond_);
  coming_.reset();
  return is_that;
}

// Requests the run behind the one just fetched, if the pages of both are adjacent; `mark` is the mark of the latter.
void pager::ask_beyond(std::uint64_t mark, std::span<const std::uint64_t> pages) {
  const auto follow_each_other = [](std::span<const std::uint64_t> all) {
    return !all.empty() && all.back() - all.front() == all.size() - 1;
  };
  if (pages.size() < ahead_.most_pages() || !follow_each_other(pages)) return;
  if (coming_ && !std::exchange(coming_->was_passed_over, true)) return;
  take_in_coming();
  coming_.reset();
  const read_ahead before = ahead_;
  std::vector<std::uint64_t> beyond = absent_pages(ahead_.after(mark, true));
  if (follow_each_other(beyond) && beyond.size() * page_bytes <= most_transfer) {
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

// Receives the coming run, so that the connection is free. If it failed, its pages are fetched when they are touched.
void pager::take_in_coming() {
  if (!coming_ || coming_->is_here) return;
  if (client_.finish_read(of_))
    coming_->is_here = true;
  else
    coming_.reset();
}

// Maps pages, clean ones protected, and returns true if the kernel has mapped all of them. pre: they are present.
bool pager::map_pages(std::span<const std::uint64_t> pages) {
  for (const std::uint64_t each : pages) {
    frame* const one = frame_at(each);
    if (one != nullptr && may_write_ && !tracks_writes_) (void)note_change(*one);
  }
  std::vector<page_store::held> clean;
  std::vector<page_store::held> writable;
  for (const std::uint64_t each : pages) {
    const frame* const one = frame_at(each);
    if (one == nullptr) continue;  // evicted, to make room for a copy of another page
    (one->is_changed || !may_write_ ? writable : clean).push_back({each, number_of(*one)});
  }
  const bool are_mapped = store_->map(writable, false, {}) == page_store::outcome::all;
  return (clean.empty() || map_protected(clean)) && are_mapped;
}

bool pager::map_protected(std::span<const page_store::held> clean) {
  // Pages that were written before they were protected, with their previous bytes: they are dirty.
  std::vector<std::pair<frame_number, std::unique_ptr<std::byte[]>>> written;
  const page_store::outcome got = store_->map(clean, true, [&](const page_store::held& which, const std::byte* before) {
    auto fetched = std::make_unique_for_overwrite<std::byte[]>(page_bytes);
    std::memcpy(fetched.get(), before, page_bytes);
    written.emplace_back(which.frame, std::move(fetched));
  });
  for (auto& [number, before] : written) {
    frame& of = frames_[number];
    of.is_changed = true;
    ++counts_.first_writes;
    if (options_.is_sole_writer) continue;
    of.fetched = std::move(before);
    ++copies_;
  }
  if (!written.empty()) {
    try {
      make_room(0, [](std::uint64_t) { return false; });
    } catch (const error&) {  // the budget is exceeded until a page may be evicted: no write is lost
    }
  }
  if (got != page_store::outcome::cannot_protect) return got == page_store::outcome::all;
  // This kernel maps pages for writing only: each counts as dirty from now on, and is compared when it is evicted.
  tracks_writes_ = false;
  for (const auto& [page, number] : clean) {
    if (frame* const one = frame_at(page)) (void)note_change(*one);
    if (frame_at(page) != nullptr) (void)store_->map(std::array{page_store::held{page, number}}, false, {});
  }
  return true;
}

// Returns a page's frame; null also if the program has given the page back: the frame is then released.
pager::frame* pager::frame_here(std::uint64_t page) {
  frame* const found = frame_at(page);
  if (found == nullptr || !is_mapped(*found) || !store_->is_gone({page, number_of(*found)})) return found;
  forget_given_back(*found);
  return nullptr;
}

// Releases the frame of a page that the program has given back. Its changes are lost, as in any private memory given
// back; the next fetch reads the server's bytes.
void pager::forget_given_back(frame& of) {
  const frame_number number = number_of(of);
  policy_->gone(number);
  store_->drop(std::array{page_store::held{of.page, number}});
  frame_of_page_[of.page].store(0, std::memory_order_release);
  if (of.fetched != nullptr) --copies_;
  if (of.pins > 0) --pinned_pages_;
  of = {};
  empty_frames_.push_back(number);
}

// Marks a page dirty and keeps a copy to compare with; the caller allows the write. Returns false if the program has
// given the page back.
bool pager::note_change(frame& of) {
  if (of.is_changed) return true;
  if (!options_.is_sole_writer) {
    ++of.pins;  // while room is made
    try {
      make_room(1, [](std::uint64_t) { return false; });
    } catch (...) {
      --of.pins;
      throw;
    }
    --of.pins;
    auto fetched = std::make_unique_for_overwrite<std::byte[]>(page_bytes);
    const std::byte* const now = view(of, fetched.get());
    if (now == nullptr) return false;
    if (now != fetched.get()) std::memcpy(fetched.get(), now, page_bytes);
    of.fetched = std::move(fetched);
    ++copies_;
  }
  ++counts_.first_writes;
  return of.is_changed = true;
}

// Serves the first write of a mapped page. If the page before it is dirty, writes to the following pages are likely:
// twice as many as last time are marked dirty as well, at the cost of a copy each instead of a fault of some
// microseconds.
void pager::note_changes_from(std::uint64_t page) {
  const frame* const before = page > 0 ? frame_at(page - 1) : nullptr;
  write_run_ = before != nullptr && before->is_changed ? std::min(2 * write_run_, most_noted_at_once) : 1;
  std::uint64_t end = page;
  for (; end < pages_ && end < page + write_run_; ++end) {
    frame* const each = frame_at(end);
    if (each == nullptr || !is_mapped(*each) || (end > page && each->is_changed) || !note_change(*each)) break;
  }
  store_->allow_writes(page, end);
}

// --- eviction ---

// Evicts pages. Throws out_of_memory if too many are pinned, and the errors of writing back.
void pager::make_room(std::uint64_t pages, const std::function<bool(std::uint64_t)>& keep) {
  const auto used = [&] { return frames_.size() - empty_frames_.size() + copies_; };
  std::vector<bool> is_chosen;
  while (used() + pages > budget_pages_ || empty_frames_.size() < pages) {
    const std::uint64_t missing =
        std::max<std::uint64_t>(used() + pages > budget_pages_ ? used() + pages - budget_pages_ : 0,
                                pages > empty_frames_.size() ? pages - empty_frames_.size() : 0);
    // Evicts some more at once if there are many frames: one request then writes back all their changes.
    const std::uint64_t wanted = std::max(missing, std::min(most_evicted_at_once, budget_pages_ / 32));
    std::vector<frame_number> victims;
    std::vector<frame_number> watch;
    const auto may = [&](frame_number each) { return frames_[each].pins == 0 && !keep(frames_[each].page); };
    std::uint64_t freed = 0;
    while (freed < wanted) {
      const frame_number victim = policy_->choose(may, watch);
      if (victim == replacement_policy::none) break;
      policy_->gone(victim);
      victims.push_back(victim);
      freed += frames_[victim].fetched != nullptr ? 2 : 1;
    }
    std::erase_if(watch, [&](frame_number each) {
      return std::find(victims.begin(), victims.end(), each) != victims.end() || frames_[each].pins > 0;
    });
    store_->unmap(held_by(watch));
    if (victims.empty())
      throw_error(errc::out_of_memory,
                  fmt::format("the region's budget is {} pages, {} of them are pinned, and {} more are needed",
                              budget_pages_, pinned_pages_, pages));
    evict(victims);
  }
}

// Writes victims back and releases their frames. pre: the policy has removed them.
void pager::evict(std::vector<frame_number>& victims) {
  try {
    std::vector<frame_number> changed;
    for (const frame_number each : victims)
      if (frames_[each].is_changed) changed.push_back(each);
    write_frames(changed);
  } catch (...) {
    for (const frame_number each : victims) policy_->came(each, frames_[each].page);
    throw;
  }
  store_->drop(held_by(victims));
  for (const frame_number each : victims) {
    frame_of_page_[frames_[each].page].store(0, std::memory_order_release);
    frames_[each] = {};
    empty_frames_.push_back(each);
  }
  counts_.evicted_pages += victims.size();
}

// Writes dirty pages back. Invariant 2.
void pager::write_frames(std::span<const frame_number> which) {
  for (std::size_t begin = 0; begin < which.size(); begin += most_written_at_once) {
    const auto some = which.subspan(begin, std::min(most_written_at_once, which.size() - begin));
    std::vector<remote_part> parts;
    changes_.clear();
    std::vector<frame_number> held;
    std::copy_if(some.begin(), some.end(), std::back_inserter(held),
                 [&](auto each) { return frames_[each].pins == 0; });
    store_->hold(held_by(held));
    // System calls may write to pinned pages at any time, unreported: the pager sends their current bytes, and they
    // stay dirty.
    std::map<frame_number, std::unique_ptr<std::byte[]>> pinned;
    for (const frame_number number : some) {
      const frame& each = frames_[number];
      if (is_mapped(each) && store_->is_gone({each.page, number})) continue;  // given back, with its changes
      const std::uint64_t bytes = bytes_of_page(each.page);
      auto kept = each.pins > 0 ? std::make_unique_for_overwrite<std::byte[]>(page_bytes) : nullptr;
      const std::byte* const now = view(each, kept != nullptr ? kept.get() : still_mapped_.data());
      if (now == nullptr) continue;  // given back at this moment
      ++counts_.written_pages;
      if (each.fetched != nullptr) {
        append_differences(now, each.fetched.get(), bytes, each.page * page_bytes, parts, changes_);
      } else {
        parts.push_back({each.page * page_bytes, bytes});
        changes_.insert(changes_.end(), now, now + bytes);
      }
      if (kept == nullptr) continue;
      if (now != kept.get()) std::memcpy(kept.get(), now, page_bytes);
      pinned.emplace(number, std::move(kept));
    }
    if (!parts.empty()) client_.scatter(of_, parts, changes_);
    counts_.written_bytes += changes_.size();
    for (const frame_number number : some) {
      frame& each = frames_[number];
      if (each.pins > 0) {
        if (const auto now = pinned.find(number); each.fetched != nullptr && now != pinned.end())
          each.fetched = std::move(now->second);
        continue;
      }
      if (std::exchange(each.fetched, nullptr) != nullptr) --copies_;
      each.is_changed = false;
    }
  }
}

// --- requests ---

std::future<void> pager::ask(std::function<void()> what) {
  std::packaged_task<void()> made{std::move(what)};
  std::future<void> result = made.get_future();
  {
    const std::lock_guard held{lock_};
    requests_.push_back(std::move(made));
  }
  (void)::eventfd_write(bell_.number(), 1);
  return result;
}

void pager::do_requests() {
  for (;;) {
    std::packaged_task<void()> next;
    {
      const std::lock_guard held{lock_};
      if (requests_.empty()) return;
      next = std::move(requests_.front());
      requests_.pop_front();
    }
    const work held{*this};
    next();
  }
}

std::pair<std::uint64_t, std::uint64_t> pager::pages_of(std::uint64_t offset, std::uint64_t bytes) const {
  demand(offset <= of_.bytes && bytes <= of_.bytes - offset,
         fmt::format("{} bytes from byte {} on are not within a region of {} bytes", bytes, offset, of_.bytes));
  if (bytes == 0) return {0, 0};
  const std::uint64_t first = offset / page_bytes;
  return {first, (offset + bytes - 1) / page_bytes - first + 1};
}

void pager::write_back(bool forget) {
  ask([this, forget] {
    std::vector<frame_number> changed;
    for (frame_number each = 0; each < frames_.size(); ++each)
      if (frames_[each].is_changed) changed.push_back(each);
    // Sorted by address, so that one request writes adjacent pages.
    std::sort(changed.begin(), changed.end(),
              [&](frame_number a, frame_number b) { return frames_[a].page < frames_[b].page; });
    std::vector<std::uint64_t> mapped;
    for (const frame_number each : changed)
      if (is_mapped(frames_[each])) mapped.push_back(frames_[each].page);
    write_frames(changed);
    if (forget) {
      take_in_coming();
      coming_.reset();
    } else {
      std::erase_if(mapped, [&](std::uint64_t page) { return is_mapped(*frame_at(page)); });
      (void)map_pages(mapped);
      return;
    }
    std::vector<bool> is_empty(frames_.size());
    for (const frame_number each : empty_frames_) is_empty[each] = true;
    std::vector<frame_number> victims;
    for (frame_number each = 0; each < frames_.size(); ++each)
      if (!is_empty[each] && frames_[each].pins == 0) victims.push_back(each);
    for (const frame_number each : victims) policy_->gone(each);
    evict(victims);
    territory_.try_again();
  }).get();
}

// Fetches the absent pages among these, at most a quarter of the budget, and 256 pages, at a time.
void pager::keep_all_fetched(std::uint64_t first_page, std::uint64_t pages) {
  const std::uint64_t most = std::max<std::uint64_t>(1, std::min<std::uint64_t>(budget_pages_ / 4, 256));
  std::vector<std::uint64_t> absent;
  for (std::uint64_t page = first_page; page < first_page + pages; ++page) {
    if (frame_here(page) == nullptr) absent.push_back(page);
    if (absent.size() < most && page + 1 < first_page + pages) continue;
    if (!absent.empty()) {
      fetch_pages(absent, no_page);
      (void)map_pages(absent);
    }
    absent.clear();
  }
}

void pager::pin(std::uint64_t first_page, std::uint64_t pages) {
  ask([=, this] {
    std::uint64_t more = 0;
    for (std::uint64_t i = 0; i < pages; ++i) {
      const frame* const found = frame_at(first_page + i);
      more += found == nullptr || found->pins == 0;
    }
    const std::uint64_t each_takes = may_write_ && !options_.is_sole_writer ? 2 : 1;
    if ((pinned_pages_ + more) * each_takes + least_budget_pages / 2 > budget_pages_)
      throw_error(errc::out_of_memory,
                  fmt::format("the region's budget is {} pages, {} are pinned, and {} more would leave too few for "
                              "touches (a pinned page that may be written takes two)",
                              budget_pages_, pinned_pages_, more));
    std::uint64_t done = 0;
    try {
      for (; done < pages; ++done) {
        const std::uint64_t page = first_page + done;
        if (frame_here(page) == nullptr) keep_all_fetched(page, std::min<std::uint64_t>(pages - done, 16));
        frame& found = *frame_at(page);
        if (found.pins++ == 0) ++pinned_pages_;
        bool can_be_written = true;
        if (may_write_) {
          try {
            can_be_written = note_change(found);
          } catch (...) {
            ++done;
            throw;
          }
        }
        found.is_mark = false;
        if (!can_be_written) continue;  // given back in between: as if the program did that later
        if (is_mapped(found))
          store_->allow_writes(page, page + 1);
        else
          (void)map_pages(std::array{page});
      }
    } catch (...) {
      for (std::uint64_t i = 0; i < done; ++i)
        if (--frame_at(first_page + i)->pins == 0) --pinned_pages_;
      throw;
    }
  }).get();
}

void pager::unpin(std::uint64_t first_page, std::uint64_t pages) {
  ask([=, this] {
    for (std::uint64_t i = 0; i < pages; ++i) {
      frame* const one = frame_at(first_page + i);
      if (one == nullptr || one->pins == 0) continue;  // the program has given it back
      if (--one->pins == 0) --pinned_pages_;
    }
  }).get();
}

std::future<void> pager::fetch(std::uint64_t first_page, std::uint64_t pages) {
  return ask([=, this] { keep_all_fetched(first_page, pages); });
}

namespace {

// Calls a function once: with the result, or, on destruction, with an error, since no result will come.
class told_once {
 public:
  explicit told_once(std::function<void(std::exception_ptr)> then) : then_{std::move(then)} {}
  ~told_once() {
    if (then_) tell(std::make_exception_ptr(error{errc::link_lost, "the region ended before its bytes were fetched"}));
  }
  told_once(const told_once&) = delete;
  told_once& operator=(const told_once&) = delete;
  void tell(std::exception_ptr what) { std::exchange(then_, {})(std::move(what)); }

 private:
  std::function<void(std::exception_ptr)> then_;
};

}  // namespace

void pager::fetch(std::uint64_t first_page, std::uint64_t pages, std::function<void(std::exception_ptr)> then) {
  // The caller does not use this future: `told` reports the end.
  (void)ask([=, this, told = std::make_shared<told_once>(std::move(then))] {
    std::exception_ptr failed;
    try {
      keep_all_fetched(first_page, pages);
    } catch (...) {
      failed = std::current_exception();
    }
    told->tell(std::move(failed));
  });
}

bool pager::is_here(std::uint64_t first_page, std::uint64_t pages) const noexcept {
  for (std::uint64_t i = 0; i < pages; ++i)
    if (frame_of_page_[first_page + i].load(std::memory_order_acquire) == 0) return false;
  return true;
}

region_statistics pager::counted() {
  region_statistics now;
  ask([&] {
    now = counts_;
    now.local_bytes = (frames_.size() - empty_frames_.size() + copies_) * page_bytes;
  }).get();
  return now;
}

}  // namespace situ::rmem::detail
