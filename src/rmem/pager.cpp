#include "rmem/pager.h"

#include <situ/base/error.h>
#include <situ/base/log.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/host.h"

namespace situ::rmem::detail {
namespace {

using situ::detail::page_bytes;

constexpr std::uint64_t least_budget_pages = 16;
constexpr std::size_t most_written_at_once = 256;
constexpr std::uint64_t most_evicted_at_once = 16;
constexpr std::uint64_t most_noted_at_once = 32;

void demand(bool holds, const std::string& otherwise) {
  if (!holds) throw_error(errc::bad_argument, otherwise);
}

// The ranges in which two pages differ, each as long as it can be.
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

void write_file(int file, std::uint64_t offset, std::span<const std::byte> from) {
  while (!from.empty()) {
    const ssize_t written = ::pwrite(file, from.data(), from.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw_error(errc::out_of_memory,
                  fmt::format("no memory for {} bytes of remote pages: {}", from.size(), std::strerror(errno)));
    offset += static_cast<std::uint64_t>(written);
    from = from.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace

situ::detail::page_file memory_file(const char* name, std::uint64_t bytes) {
  situ::detail::page_file made = situ::detail::page_file::create(memory_kind{}, name);
  made.resize(bytes);
  return made;
}

file_mapping::file_mapping(int file, std::size_t bytes, int protection) : begin_{nullptr}, bytes_{bytes} {
  replace(file, protection);
}
void file_mapping::replace(int file, int protection) {
  const int how = MAP_SHARED | MAP_NORESERVE | (begin_ != nullptr ? MAP_FIXED : 0);
  void* const made = ::mmap(begin_, bytes_, protection, how, file, 0);
  if (made == MAP_FAILED)
    throw_error(errc::out_of_memory,
                fmt::format("no room for {} bytes of addresses: {}", bytes_, std::strerror(errno)));
  begin_ = static_cast<std::byte*>(made);
  // A child has nobody who fetches, and a dump would wait for pages.
  ::madvise(made, bytes_, MADV_DONTFORK);
  ::madvise(made, bytes_, MADV_DONTDUMP);
  ::madvise(made, bytes_, MADV_NOHUGEPAGE);
}
file_mapping::~file_mapping() { ::munmap(begin_, bytes_); }

pager::pager(client through, const capability& of, const region_options& options)
    : client_{std::move(through)},
      of_{of},
      options_{options},
      pages_{(of.bytes + page_bytes - 1) / page_bytes},
      budget_pages_{options.local_bytes / page_bytes},
      may_write_{includes(of.may, rights::write)},
      file_{memory_file("situ-rmem-region", pages_ * page_bytes)},
      own_{file_.descriptor(), pages_ * page_bytes, PROT_READ | PROT_WRITE},
      program_{file_.descriptor(), pages_ * page_bytes, may_write_ ? PROT_READ | PROT_WRITE : PROT_READ},
      bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      territory_{program_.begin(), program_.bytes(), may_write_ ? PROT_READ | PROT_WRITE : PROT_READ},
      frame_of_page_{static_cast<std::atomic<std::uint32_t>*>(std::calloc(pages_, sizeof(std::uint32_t))), std::free},
      ahead_{options.ahead,
             static_cast<std::uint32_t>(std::min<std::uint64_t>(options.prefetch_pages, budget_pages_ / 4))} {
  demand(budget_pages_ >= least_budget_pages,
         fmt::format("the budget of a region is 16 pages of 4096 bytes or more, not {} bytes", options.local_bytes));
  demand(options.prefetch_pages > 0, "prefetch_pages is 1 or more; prefetch::none fetches nothing ahead");
  if (!includes(of.may, rights::read))
    throw_error(errc::access_denied, "a region fetches its pages: its capability needs the right to read");
  if (frame_of_page_ == nullptr) throw_error(errc::out_of_memory, "no memory for a table of the region's pages");
  const auto most_frames = static_cast<std::uint32_t>(std::min(budget_pages_, pages_));
  frames_.resize(most_frames);
  for (frame_number each = most_frames; each-- > 0;) empty_frames_.push_back(each);
  policy_ = make_replacement_policy(options.replace, most_frames);
  faults_.watch(program_.begin(), program_.bytes());
  thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

pager::~pager() {
  thread_.request_stop();
  (void)::eventfd_write(bell_.get(), 1);
}

std::byte* pager::program_page(std::uint64_t page) const noexcept { return program_.begin() + page * page_bytes; }
std::byte* pager::own_page(std::uint64_t page) const noexcept { return own_.begin() + page * page_bytes; }
std::uint64_t pager::bytes_of_page(std::uint64_t page) const noexcept {
  return std::min<std::uint64_t>(page_bytes, of_.bytes - page * page_bytes);
}
pager::frame* pager::frame_at(std::uint64_t page) noexcept {
  const std::uint32_t number = frame_of_page_[page].load(std::memory_order_relaxed);
  return number == 0 ? nullptr : &frames_[number - 1];
}

// --- the thread ---

void pager::run(const std::stop_token& stop) {
  pollfd both[2] = {{faults_.descriptor_number(), POLLIN, 0}, {bell_.get(), POLLIN, 0}};
  while (!stop.stop_requested()) {
    if (::poll(both, 2, -1) < 0 && errno != EINTR) continue;
    if ((both[1].revents & POLLIN) != 0) {
      eventfd_t rung = 0;
      (void)::eventfd_read(bell_.get(), &rung);
      do_requests();
    }
    if ((both[0].revents & POLLIN) == 0) continue;
    if (const std::optional<user_fault> fault = faults_.next()) serve(*fault);
  }
}

void pager::serve(const user_fault& fault) {
  const std::uint64_t page = (fault.address - reinterpret_cast<std::uintptr_t>(program_.begin())) / page_bytes;
  frame* const found = frame_at(page);
  if (found == nullptr) return serve_missing(page, fault.is_write);
  try {
    if (!found->is_mapped) {
      ++counts_.seen;
      policy_->touched(static_cast<frame_number>(found - frames_.data()));
      const bool was_mark = std::exchange(found->is_mark, false);
      if (fault.is_write) note_change(*found);
      map_frame(*found);
      if (was_mark) fetch_ahead(page, true);
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
    const page_run run = ahead_.after(page, false);
    std::vector<std::uint64_t> pages{page};
    for (std::int64_t i = 0; i < run.count; ++i) {
      const auto each = static_cast<std::uint64_t>(run.first + i * run.distance);
      if (each < pages_ && each != page && frame_at(each) == nullptr) pages.push_back(each);
    }
    const std::size_t mark = pages.size() >= 3 ? pages[pages.size() / 2] : pages_;
    std::sort(pages.begin(), pages.end());
    try {
      fetch_pages(pages);
    } catch (const error&) {
      if (pages.size() == 1) throw;
      pages = {page};  // what was not asked for is no reason
      fetch_pages(pages);
    }
    counts_.prefetched_pages += pages.size() - 1;
    if (pages.size() > 1 && mark < pages_) {
      frame_at(mark)->is_mark = true;
      std::erase(pages, mark);
    }
    if (is_write) note_change(*frame_at(page));
    map_pages(pages);
  } catch (const error& why) {
    fail_page(page, why);
  }
}

void pager::fetch_ahead(std::uint64_t page, bool is_mark) {
  const page_run run = ahead_.after(page, is_mark);
  std::vector<std::uint64_t> pages;
  for (std::int64_t i = 0; i < run.count; ++i) {
    const auto each = static_cast<std::uint64_t>(run.first + i * run.distance);
    if (each < pages_ && frame_at(each) == nullptr) pages.push_back(each);
  }
  if (pages.empty()) return;
  const std::uint64_t mark = pages[pages.size() / 2];
  std::sort(pages.begin(), pages.end());
  try {
    fetch_pages(pages);
  } catch (const error&) {
    return;  // who needs them will be told
  }
  counts_.prefetched_pages += pages.size();
  frame_at(mark)->is_mark = true;
  std::erase(pages, mark);
  map_pages(pages);
}

void pager::fail_page(std::uint64_t page, const error& why) {
  territory_.fail(
      program_page(page),
      {why.code(), fmt::format("remote memory at {} (byte {} of the region at {:#x} of server {}) cannot be "
                               "touched: {}",
                               static_cast<const void*>(program_page(page)), page * page_bytes, of_.address,
                               of_.address >> 56, why.message())});
  faults_.wake(program_page(page), page_bytes);
}

// --- coming ---

// pre: absent, in ascending order.
void pager::fetch_pages(const std::vector<std::uint64_t>& pages) {
  make_room(pages.size(), [](std::uint64_t) { return false; });
  try {
    read_pages(pages);
  } catch (...) {
    for (const std::uint64_t each : pages)  // half of them may be there
      (void)::fallocate(file_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        static_cast<off_t>(each * page_bytes), page_bytes);
    throw;
  }
  for (const std::uint64_t each : pages) {
    const frame_number number = empty_frames_.back();
    empty_frames_.pop_back();
    frames_[number].page = each;
    policy_->came(number, each);
    frame_of_page_[each].store(number + 1, std::memory_order_release);
  }
  counts_.fetched_pages += pages.size();
}

// By way of a buffer that stays in the cache: a write into the file needs no fault for a page, nor zeros in it first.
void pager::read_pages(std::span<const std::uint64_t> pages) {
  std::vector<remote_part> parts;
  std::uint64_t all = 0;
  for_each_run(pages, [&](std::uint64_t first, std::uint64_t end) {
    const std::uint64_t bytes = (end - 1 - first) * page_bytes + bytes_of_page(end - 1);
    parts.push_back({first * page_bytes, bytes});
    all += bytes;
  });
  staging_.resize(all);
  if (parts.size() == 1)
    client_.read(of_, parts.front().offset, staging_);
  else
    client_.gather(of_, parts, staging_);
  const std::byte* from = staging_.data();
  for (const remote_part& each : parts) {
    write_file(file_.descriptor(), each.offset, {from, each.bytes});
    from += each.bytes;
  }
}

void pager::map_frame(frame& which) { map_pages(std::array{which.page}); }

// pre: present; clean ones become protected.
void pager::map_pages(std::span<const std::uint64_t> pages) {
  for (const std::uint64_t each : pages) {
    frame* const one = frame_at(each);
    if (one != nullptr && may_write_ && !tracks_writes_) note_change(*one);
  }
  std::vector<std::uint64_t> clean;
  for (const std::uint64_t each : pages) {
    frame* const one = frame_at(each);
    if (one == nullptr) continue;  // it went, to make room for a copy of another
    one->is_mapped = true;
    if (one->is_changed || !may_write_)
      (void)faults_.map(program_page(each), page_bytes, false);
    else
      clean.push_back(each);
  }
  for_each_run(clean, [&](std::uint64_t first, std::uint64_t end) {
    if (faults_.map(program_page(first), (end - first) * page_bytes, true)) return;
    // This kernel maps pages for writing only: each counts as changed from now on, and is compared when it goes.
    tracks_writes_ = false;
    for (std::uint64_t page = first; page < end; ++page) {
      if (frame* const one = frame_at(page)) note_change(*one);
      if (frame_at(page) != nullptr) (void)faults_.map(program_page(page), page_bytes, false);
    }
  });
}

// The page may be written from now on; who mapped it protected allows it.
void pager::note_change(frame& of) {
  if (of.is_changed) return;
  ++counts_.first_writes;
  if (!options_.is_sole_writer) {
    ++of.pins;  // while there is made room
    try {
      make_room(1, [](std::uint64_t) { return false; });
    } catch (...) {
      --of.pins;
      throw;
    }
    --of.pins;
    of.fetched = std::make_unique_for_overwrite<std::byte[]>(page_bytes);
    std::memcpy(of.fetched.get(), own_page(of.page), page_bytes);
    ++copies_;
  }
  of.is_changed = true;
}

// The first write of a mapped page. Where the page before it has changed, those behind it will soon: twice as many as
// last time are noted as well, which costs a copy each, where a fault is some microseconds.
void pager::note_changes_from(std::uint64_t page) {
  const frame* const before = page > 0 ? frame_at(page - 1) : nullptr;
  write_run_ = before != nullptr && before->is_changed ? std::min(2 * write_run_, most_noted_at_once) : 1;
  std::uint64_t end = page;
  for (; end < pages_ && end < page + write_run_; ++end) {
    frame* const each = frame_at(end);
    if (each == nullptr || !each->is_mapped || (end > page && each->is_changed)) break;
    note_change(*each);
  }
  faults_.allow_writes(program_page(page), (end - page) * page_bytes);
}

// --- going ---

// Throws out_of_memory where too much is pinned, and what writing back throws.
void pager::make_room(std::uint64_t pages, const std::function<bool(std::uint64_t)>& keep) {
  const auto used = [&] { return frames_.size() - empty_frames_.size() + copies_; };
  std::vector<bool> is_chosen;
  while (used() + pages > budget_pages_ || empty_frames_.size() < pages) {
    const std::uint64_t missing =
        std::max<std::uint64_t>(used() + pages > budget_pages_ ? used() + pages - budget_pages_ : 0,
                                pages > empty_frames_.size() ? pages - empty_frames_.size() : 0);
    // Some more at once where there are many: their changes go by one request.
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
    unmap(watch);
    if (victims.empty())
      throw_error(errc::out_of_memory,
                  fmt::format("the region's budget is {} pages, {} of them are pinned, and {} more are needed",
                              budget_pages_, pinned_pages_, pages));
    evict(victims);
  }
}

// pre: the policy has forgotten them.
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
  std::vector<std::uint64_t> pages;
  for (const frame_number each : victims) {
    pages.push_back(frames_[each].page);
    frame_of_page_[frames_[each].page].store(0, std::memory_order_release);
    frames_[each] = {};
    empty_frames_.push_back(each);
  }
  std::sort(pages.begin(), pages.end());
  for_each_run(pages, [&](std::uint64_t first, std::uint64_t end) {
    (void)::fallocate(file_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      static_cast<off_t>(first * page_bytes), static_cast<off_t>((end - first) * page_bytes));
  });
  counts_.evicted_pages += victims.size();
}

// Invariant 2.
void pager::write_frames(std::span<const frame_number> which) {
  for (std::size_t begin = 0; begin < which.size(); begin += most_written_at_once) {
    const auto some = which.subspan(begin, std::min(most_written_at_once, which.size() - begin));
    std::vector<remote_part> parts;
    staging_.clear();
    for (const frame_number number : some) {
      const frame& each = frames_[number];
      faults_.protect(program_page(each.page), page_bytes);
      const std::uint64_t bytes = bytes_of_page(each.page);
      const std::byte* const now = own_page(each.page);
      if (each.fetched != nullptr) {
        append_differences(now, each.fetched.get(), bytes, each.page * page_bytes, parts, staging_);
      } else {
        parts.push_back({each.page * page_bytes, bytes});
        staging_.insert(staging_.end(), now, now + bytes);
      }
    }
    if (!parts.empty()) client_.scatter(of_, parts, staging_);
    counts_.written_bytes += staging_.size();
    counts_.written_pages += some.size();
    for (const frame_number number : some) {
      frame& each = frames_[number];
      if (each.pins > 0) {  // system calls may write there, of which nothing is told: it stays a changed one
        if (each.fetched != nullptr) std::memcpy(each.fetched.get(), own_page(each.page), page_bytes);
        faults_.allow_writes(program_page(each.page), page_bytes);
        continue;
      }
      if (std::exchange(each.fetched, nullptr) != nullptr) --copies_;
      each.is_changed = false;
    }
  }
}

// The next touch of them is told.
void pager::unmap(std::span<const frame_number> which) {
  std::vector<std::uint64_t> pages;
  for (const frame_number each : which)
    if (std::exchange(frames_[each].is_mapped, false)) pages.push_back(frames_[each].page);
  std::sort(pages.begin(), pages.end());
  for_each_run(pages, [&](std::uint64_t first, std::uint64_t end) {
    ::madvise(program_page(first), (end - first) * page_bytes, MADV_DONTNEED);
  });
}

// --- what is asked for ---

std::future<void> pager::ask(std::function<void()> what) {
  std::packaged_task<void()> made{std::move(what)};
  std::future<void> result = made.get_future();
  {
    const std::lock_guard held{lock_};
    requests_.push_back(std::move(made));
  }
  (void)::eventfd_write(bell_.get(), 1);
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
    // In the order of their addresses, so that what lies side by side goes by one request.
    std::sort(changed.begin(), changed.end(),
              [&](frame_number a, frame_number b) { return frames_[a].page < frames_[b].page; });
    write_frames(changed);
    if (!forget) return;
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

// Fetches what is absent of them, as much at a time as the budget's quarter.
void pager::keep_all_fetched(std::uint64_t first_page, std::uint64_t pages) {
  const std::uint64_t most = std::max<std::uint64_t>(1, std::min<std::uint64_t>(budget_pages_ / 4, 256));
  std::vector<std::uint64_t> absent;
  for (std::uint64_t page = first_page; page < first_page + pages; ++page) {
    if (frame_at(page) == nullptr) absent.push_back(page);
    if (absent.size() < most && page + 1 < first_page + pages) continue;
    if (!absent.empty()) {
      fetch_pages(absent);
      map_pages(absent);
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
        if (frame_at(page) == nullptr) keep_all_fetched(page, std::min<std::uint64_t>(pages - done, 16));
        frame& found = *frame_at(page);
        if (found.pins++ == 0) ++pinned_pages_;
        if (may_write_) {
          try {
            note_change(found);
          } catch (...) {
            ++done;
            throw;
          }
        }
        found.is_mark = false;
        if (found.is_mapped)
          faults_.allow_writes(program_page(page), page_bytes);
        else
          map_frame(found);
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
    for (std::uint64_t i = 0; i < pages; ++i)
      if (--frame_at(first_page + i)->pins == 0) --pinned_pages_;
  }).get();
}

std::future<void> pager::fetch(std::uint64_t first_page, std::uint64_t pages) {
  return ask([=, this] { keep_all_fetched(first_page, pages); });
}

namespace {

// Calls a function once: with what came, or, at its own end, since nothing will come any more.
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
  // Nobody waits for the future: who has to be told is.
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
