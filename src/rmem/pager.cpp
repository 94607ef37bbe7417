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
constexpr std::uint64_t most_evicted_at_once = 16;

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

page_cache::settings pager::settings_of(const capability& of, const region_options& options) {
  const std::uint64_t budget_pages = options.local_bytes / page_bytes;
  demand(budget_pages >= least_budget_pages,
         fmt::format("the budget of a region is 16 pages of 4096 bytes or more, not {} bytes", options.local_bytes));
  demand(options.prefetch_pages > 0, "prefetch_pages is 1 or more; prefetch::none fetches nothing ahead");
  if (!includes(of.may, rights::read))
    throw_error(errc::access_denied, "a region fetches its pages: its capability needs the right to read");
  return {.budget_pages = budget_pages,
          .replace = options.replace,
          .ahead = options.ahead,
          .most_ahead = static_cast<std::uint32_t>(std::min<std::uint64_t>(options.prefetch_pages, budget_pages / 4)),
          .least_evicted_at_once = std::min(most_evicted_at_once, budget_pages / 32),
          .may_write = includes(of.may, rights::write),
          .requests_beyond = true,
          .forgives_read_ahead = true};
}

pager::pager(client through, const capability& of, const region_options& options)
    : of_{of},
      options_{options},
      pages_{(of.bytes + page_bytes - 1) / page_bytes},
      budget_pages_{settings_of(of, options).budget_pages},
      may_write_{includes(of.may, rights::write)},
      faults_{options.fetches == fetcher::toucher ? user_faults::told::by_signal : user_faults::told::by_descriptor},
      store_{make_page_store(faults_, pages_, static_cast<std::uint32_t>(std::min(budget_pages_, pages_)), may_write_)},
      bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      territory_{store_->program(), pages_ * page_bytes, may_write_ ? PROT_READ | PROT_WRITE : PROT_READ,
                 options.fetches == fetcher::toucher ? [this](const user_fault& touch) { return serve_here(touch); }
                                                     : territory::server{}},
      cache_{*this, std::move(through), of, settings_of(of, options)},
      still_mapped_(page_bytes) {
  thread_ = os::worker{[this](const std::stop_token& stop) { run(stop); }};
}

pager::~pager() {
  thread_.request_stop();
  (void)::eventfd_write(bell_.number(), 1);
}

std::byte* pager::program_page(std::uint64_t page) const noexcept { return store_->program() + page * page_bytes; }

// --- the thread ---

void pager::run(const std::stop_token& stop) {
  pollfd both[2] = {{faults_.descriptor_number(), POLLIN, 0}, {bell_.number(), POLLIN, 0}};
  const auto is_sending = [this] {
    const work held{*this};
    return cache_.is_receiving();
  };
  while (!stop.stop_requested()) {
    // If no request waits, the thread receives the bytes that the server is sending: the server drops clients that take
    // none.
    const bool comes = is_sending();
    const int found = ::poll(both, 2, comes ? 0 : longest_silence_ms);
    if (found == 0) {
      const work held{*this};
      if (comes)
        cache_.receive_coming();
      else
        cache_.server().keep_alive();
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
  if (cache_.is_receiving()) (void)::eventfd_write(bell_.number(), 1);
  return true;
}

void pager::serve(const user_fault& fault) {
  const std::uint64_t page = (fault.address - reinterpret_cast<std::uintptr_t>(store_->program())) / page_bytes;
  const frame* const found = fault.is_protected ? cache_.frame_at(page) : frame_here(page);
  try {
    if (found == nullptr || !is_mapped(*found)) {
      if (!cache_.touch(page, fault.is_write)) return;
      // The touching thread continues in the meantime.
      if (options_.fetches == fetcher::toucher)
        (void)ask([this, page] { cache_.fetch_ahead(page); });
      else
        cache_.fetch_ahead(page);
    } else if (fault.is_write) {
      cache_.open_from(page);
    } else {
      faults_.wake(program_page(page), page_bytes);
    }
  } catch (const error& why) {
    fail_page(page, why);
  }
}

void pager::fail_page(std::uint64_t page, const error& why) {
  // The pager reads mapped pages, and nothing may read this page from now on.
  if (const frame* const one = cache_.frame_at(page); one != nullptr && is_mapped(*one)) {
    store_->unmap(std::array{cache_.held_by(*one)});
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

// --- the pages, for the cache ---

void pager::fetch(page_store::pages which) {
  store_->keep();  // the pages of the last fetch that are not mapped
  std::vector<std::uint64_t> pages;
  for (const page_store::held& each : which) pages.push_back(each.page);
  cache_.read(pages, fetched_);
  store_->fill(which, fetched_.data());
}

page_store::outcome pager::map(page_store::pages which, bool is_protected) {
  // Pages that were written before they were protected, with their previous bytes: they are dirty.
  std::vector<std::pair<frame_number, std::unique_ptr<std::byte[]>>> written;
  const auto note = [&](const page_store::held& each, const std::byte* before) {
    auto fetched = std::make_unique_for_overwrite<std::byte[]>(page_bytes);
    std::memcpy(fetched.get(), before, page_bytes);
    written.emplace_back(each.frame, std::move(fetched));
  };
  const page_store::outcome got = store_->map(which, is_protected, note);
  for (auto& [number, before] : written) {
    cache_.note_written(cache_[number]);
    if (!options_.is_sole_writer) cache_.keep_copy(cache_[number], std::move(before));
  }
  if (!written.empty()) {
    try {
      cache_.make_room(0);
    } catch (const error&) {  // the budget is exceeded until a page may be evicted: no write is lost
    }
  }
  return got;
}

// Keeps a copy to compare with. Returns false if the program has given the page back.
bool pager::before_write(frame& of) {
  if (options_.is_sole_writer) return true;
  ++of.pins;  // while room is made
  try {
    cache_.make_room(1);
  } catch (...) {
    --of.pins;
    throw;
  }
  --of.pins;
  auto fetched = std::make_unique_for_overwrite<std::byte[]>(page_bytes);
  const std::byte* const now = view(of, fetched.get());
  if (now == nullptr) return false;
  if (now != fetched.get()) std::memcpy(fetched.get(), now, page_bytes);
  cache_.keep_copy(of, std::move(fetched));
  return true;
}

// Returns a page's frame; null also if the program has given the page back: the frame is then released. Its changes are
// lost, as in any private memory given back; the next fetch reads the server's bytes.
pager::frame* pager::frame_here(std::uint64_t page) {
  frame* const found = cache_.frame_at(page);
  if (found == nullptr || !is_mapped(*found) || !store_->is_gone(cache_.held_by(*found))) return found;
  store_->drop(std::array{cache_.held_by(*found)});
  cache_.forget(*found);
  return nullptr;
}

// Invariant 2.
void pager::write(std::span<const frame_number> which) {
  std::vector<remote_part> parts;
  changes_.clear();
  std::vector<frame_number> held;
  std::copy_if(which.begin(), which.end(), std::back_inserter(held), [&](auto each) { return cache_[each].pins == 0; });
  store_->hold(cache_.held_by(held));
  // System calls may write to pinned pages at any time, unreported: the pager sends their current bytes, and they stay
  // dirty.
  std::map<frame_number, std::unique_ptr<std::byte[]>> pinned;
  for (const frame_number number : which) {
    const frame& each = cache_[number];
    if (is_mapped(each) && store_->is_gone({each.page, number})) continue;  // given back, with its changes
    const std::uint64_t bytes = cache_.bytes_of_page(each.page);
    auto kept = each.pins > 0 ? std::make_unique_for_overwrite<std::byte[]>(page_bytes) : nullptr;
    const std::byte* const now = view(each, kept != nullptr ? kept.get() : still_mapped_.data());
    if (now == nullptr) continue;  // given back at this moment
    ++cache_.counts.written_pages;
    if (each.copy != nullptr) {
      append_differences(now, each.copy.get(), bytes, each.page * page_bytes, parts, changes_);
    } else {
      parts.push_back({each.page * page_bytes, bytes});
      changes_.insert(changes_.end(), now, now + bytes);
    }
    if (kept == nullptr) continue;
    if (now != kept.get()) std::memcpy(kept.get(), now, page_bytes);
    pinned.emplace(number, std::move(kept));
  }
  if (!parts.empty()) cache_.server().scatter(of_, parts, changes_);
  cache_.counts.written_bytes += changes_.size();
  for (auto& [number, now] : pinned)
    if (cache_[number].copy != nullptr) cache_[number].copy = std::move(now);
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
    const std::vector<frame_number> changed = cache_.changed();
    std::vector<std::uint64_t> mapped;
    for (const frame_number each : changed)
      if (is_mapped(each)) mapped.push_back(cache_[each].page);
    cache_.write_back(changed);
    if (!forget) {
      std::erase_if(mapped, [&](std::uint64_t page) { return is_mapped(*cache_.frame_at(page)); });
      (void)cache_.map(mapped);
      return;
    }
    cache_.discard_coming();
    cache_.evict_all();
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
      cache_.fetch(absent, page_cache::no_page);
      (void)cache_.map(absent);
    }
    absent.clear();
  }
}

void pager::pin(std::uint64_t first_page, std::uint64_t pages) {
  ask([=, this] {
    std::uint64_t more = 0;
    for (std::uint64_t i = 0; i < pages; ++i) {
      const frame* const found = cache_.frame_at(first_page + i);
      more += found == nullptr || found->pins == 0;
    }
    const std::uint64_t each_takes = may_write_ && !options_.is_sole_writer ? 2 : 1;
    if ((cache_.pinned_pages() + more) * each_takes + least_budget_pages / 2 > budget_pages_)
      throw_error(errc::out_of_memory,
                  fmt::format("the region's budget is {} pages, {} are pinned, and {} more would leave too few for "
                              "touches (a pinned page that may be written takes two)",
                              budget_pages_, cache_.pinned_pages(), more));
    std::uint64_t done = 0;
    try {
      for (; done < pages; ++done) {
        const std::uint64_t page = first_page + done;
        // With a small budget, room for the last pages of a run may be that of its first one: then it comes alone.
        for (std::uint64_t most = 16; frame_here(page) == nullptr; most = 1)
          keep_all_fetched(page, std::min(pages - done, most));
        frame& found = *cache_.frame_at(page);
        cache_.pin(found);
        bool can_be_written = true;
        if (may_write_) {
          try {
            can_be_written = cache_.open(found);
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
          (void)cache_.map(std::array{page});
      }
    } catch (...) {
      for (std::uint64_t i = 0; i < done; ++i) cache_.unpin(*cache_.frame_at(first_page + i));
      throw;
    }
  }).get();
}

void pager::unpin(std::uint64_t first_page, std::uint64_t pages) {
  ask([=, this] {
    for (std::uint64_t i = 0; i < pages; ++i) {
      frame* const one = cache_.frame_at(first_page + i);
      if (one != nullptr && one->pins > 0) cache_.unpin(*one);  // otherwise the program has given it back
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
    if (!cache_.is_here(first_page + i)) return false;
  return true;
}

region_statistics pager::counted() {
  region_statistics now;
  ask([&] {
    now = cache_.counts;
    now.local_bytes = (cache_.used_frames() + cache_.copies()) * page_bytes;
  }).get();
  return now;
}

}  // namespace situ::rmem::detail
