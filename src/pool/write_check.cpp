#include "pool/write_check.h"

#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/fabric/detail/function_id.h>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "os/fault_chain.h"
#include "os/mapping.h"
#include "os/source_lines.h"
#include "pool/reachability.h"

namespace situ::detail {
namespace {

constexpr std::size_t checked_page = 4096;

// Signals belong to the process, so the checked pools do, too.
constexpr std::size_t most_checked = 16;
std::atomic<write_check*> checked_pools[most_checked];

// A store that is being single-stepped.
struct step_state {
  write_check* of = nullptr;
  std::uintptr_t address = 0;
  std::uintptr_t code = 0;
  std::uintptr_t caller = 0;
  std::uintptr_t pages[2]{};
  std::size_t page_count = 0;
  std::size_t bytes = 0;
  std::byte before[64];
};
thread_local step_state stepping;
thread_local write_check* engine_at_work = nullptr;

int thread_number() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

write_check* checked_at(std::uintptr_t address) noexcept {
  for (const auto& each : checked_pools)
    if (write_check* const one = each.load(std::memory_order_acquire); one != nullptr && one->holds(address))
      return one;
  return nullptr;
}

bool step_over_store(const os::fault_event& fault) noexcept {
  write_check* const found = fault.signal == SIGTRAP ? stepping.of : checked_at(fault.address());
  if (found == nullptr) return false;
  if (fault.signal == SIGTRAP) {
    fault.set_single_step(false);
    found->on_step();
  } else {
    found->on_fault(fault);
  }
  return true;
}
constinit os::fault_link check_link{os::fault_rank::serves, {SIGSEGV, SIGTRAP}, &step_over_store};

bool is_own_code(std::uintptr_t code) noexcept { return code - own_code.base - own_code.begin < own_code.bytes; }

// Returns the address from which a library's function was called: the first word on its stack that points into the
// program's code.
std::uintptr_t caller_on(const std::uintptr_t* stack) noexcept {
  constexpr int looked_at = 64;
  for (int i = 0; i < looked_at; ++i)
    if (is_own_code(stack[i])) return stack[i];
  return 0;
}

}  // namespace

// --- a checked pool ---

write_check::write_check(pool_file& file)
    : file_{file},
      begin_{reinterpret_cast<std::uintptr_t>(file.base()) + file.heap_offset()},
      end_{begin_ + std::uint64_t{file.most_chunks()} * chunk_bytes} {
#if !defined(__x86_64__)
  throw_error(errc::not_supported, "pools are checked on x86-64 alone, where a store can be stepped over");
#endif
  write_check* none = nullptr;
  const auto free = std::find_if(std::begin(checked_pools), std::end(checked_pools), [&](auto& each) {
    none = nullptr;
    return each.compare_exchange_strong(none, this);
  });
  if (free == std::end(checked_pools))
    throw_error(errc::not_supported,
                fmt::format("pool {}: {} pools are checked at once at most", file.path(), most_checked));
  os::fault_chain::add(check_link);
  set_pages(begin_, end_ - begin_, false);
}

write_check::~write_check() {
  set_pages(begin_, end_ - begin_, true);
  for (auto& each : checked_pools) {
    write_check* self = this;
    each.compare_exchange_strong(self, nullptr);
  }
  os::fault_chain::remove(check_link);
  if (const std::size_t all = outside_count_.load(); all != 0)
    log(log_level::error, text_of(outside_.get(), std::min(all, most_strays), all));
}

void write_check::set_pages(std::uintptr_t address, std::size_t bytes, bool are_open) const noexcept {
  const std::uintptr_t from = address / checked_page * checked_page;
  os::protect(reinterpret_cast<void*>(from), address + bytes - from, are_open ? PROT_READ | PROT_WRITE : PROT_READ);
}
void write_check::close_pages() noexcept {
  while (open_count_ != 0) set_pages(open_[--open_count_], checked_page, false);
}

void write_check::engine_part::enter() noexcept {
  before_ = engine_at_work;
  engine_at_work = of_;
}
void write_check::engine_part::leave() noexcept {
  engine_at_work = before_;
  if (before_ != of_) of_->close_pages();
}

// --- levels ---

void write_check::begin_level() {
  if (const std::size_t all = outside_count_.exchange(0); all != 0)
    throw_error(errc::bad_argument, text_of(outside_.get(), std::min(all, most_strays), all));
  close_pages();
  levels_.push_back({covered_.size(), stray_count_.load()});
  owner_.store(thread_number());
}

// If an inner level is kept, the outer one inherits its covered ranges, because their entries stay in the log.
void write_check::end_level(bool is_kept) noexcept {
  close_pages();
  if (!is_kept) {
    covered_.resize(levels_.back().covered);
    stray_count_.store(levels_.back().strays);
  }
  levels_.pop_back();
  if (!levels_.empty()) return;
  covered_.clear();
  stray_count_.store(0);
  owner_.store(0);
}

void write_check::cover(const void* at, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  covered_.push_back({begin, begin + bytes});
}

void write_check::expect_covered() const {
  const std::size_t from = levels_.back().strays, all = stray_count_.load();
  if (all != from)
    throw_error(errc::bad_argument, text_of(strays_.get() + std::min(from, most_strays),
                                            std::min(all, most_strays) - std::min(from, most_strays), all - from));
}

const std::byte* write_check::restore(const stray& each) noexcept {
  auto* const at = reinterpret_cast<std::byte*>(each.at);
  std::memcpy(at, each.before, each.bytes);
  return at;
}

bool write_check::is_of_transaction() const noexcept { return owner_.load() == thread_number(); }

// Searches from the newest range, since mostly one of the newest matches.
bool write_check::is_covered(std::uintptr_t begin, std::uintptr_t end) const noexcept {
  if (!is_of_transaction()) return false;
  for (std::size_t i = covered_.size(); i > levels_.back().covered; --i)
    if (covered_[i - 1].begin <= begin && end <= covered_[i - 1].end) return true;
  return false;
}

// --- what the handlers do ---

void write_check::on_fault(const os::fault_event& fault) noexcept {
  const std::uintptr_t address = fault.address();
  const std::uintptr_t at_page = address / checked_page * checked_page;
  const bool is_own = engine_at_work == this;
  if ((is_own || is_covered(at_page, at_page + checked_page)) && open_count_ != most_open) {
    open_[open_count_++] = at_page;
    return set_pages(at_page, checked_page, true);
  }
  if (stepping.of == nullptr) {
    stepping.of = this;
    stepping.address = address;
    stepping.code = fault.instruction_pointer();
    stepping.caller =
        is_own_code(stepping.code) ? 0 : caller_on(reinterpret_cast<const std::uintptr_t*>(fault.stack_pointer()));
    stepping.page_count = 0;
    stepping.bytes = is_own ? 0 : std::min<std::uintptr_t>(window_bytes, end_ - address);
    std::memcpy(stepping.before, reinterpret_cast<const void*>(address), stepping.bytes);
  }
  // A store that crosses a page's end faults twice.
  if (stepping.page_count != std::size(stepping.pages)) stepping.pages[stepping.page_count++] = at_page;
  set_pages(at_page, checked_page, true);
  fault.set_single_step(true);
}

void write_check::on_step() noexcept {
  const auto* const now = reinterpret_cast<const std::byte*>(stepping.address);
  for (std::size_t i = 0; i < stepping.bytes;) {
    if (now[i] == stepping.before[i]) {
      ++i;
      continue;
    }
    const std::size_t first = i;
    while (i < stepping.bytes && now[i] != stepping.before[i] &&
           !is_covered(stepping.address + i, stepping.address + i + 1))
      ++i;
    if (i == first) {
      ++i;  // covered
    } else {
      note_stray(stepping.address + first, i - first, stepping.before + first);
    }
  }
  for (std::size_t i = 0; i < stepping.page_count; ++i) set_pages(stepping.pages[i], checked_page, false);
  stepping.of = nullptr;
}

void write_check::note_stray(std::uintptr_t at, std::size_t bytes, const std::byte* before) noexcept {
  const bool is_inside = is_of_transaction();
  if (!is_inside)
    while (outside_lock_.test_and_set(std::memory_order_acquire)) {}
  std::atomic<std::size_t>& count = is_inside ? stray_count_ : outside_count_;
  stray* const all = is_inside ? strays_.get() : outside_.get();
  const std::size_t number = count.load(), first = is_inside ? levels_.back().strays : 0;
  if (stray* const last = all + number - 1; number > first && number <= most_strays && last->code == stepping.code &&
                                            at == last->at + last->bytes && last->bytes + bytes <= window_bytes) {
    std::memcpy(last->before + last->bytes, before, bytes);  // continues the last stray store
    last->bytes += bytes;
  } else if (++count; number < most_strays) {
    stray& next = all[number];
    next.at = at;
    next.bytes = bytes;
    next.code = stepping.code;
    next.caller = stepping.caller;
    std::memcpy(next.before, before, bytes);
  }
  if (!is_inside) outside_lock_.clear(std::memory_order_release);
}

// --- what is said of it ---

std::string write_check::text_of(const stray* first, std::size_t count, std::size_t all) const {
  const auto address_of = [](const stray& each) {
    const std::uintptr_t code = each.caller != 0 ? each.caller - 1 : each.code;
    return is_own_code(code) ? code - own_code.base : code;
  };
  std::vector<std::uintptr_t> code;
  for (std::size_t i = 0; i < count; ++i) code.push_back(address_of(first[i]));
  const auto lines = source_lines(code);
  const block_table blocks{file_, file_.chunks()};
  std::string text = fmt::format("pool {}: {} stores {} a transaction, of bytes that no snapshot keeps: ", file_.path(),
                                 all, this->outside_.get() == first ? "outside" : "of");
  constexpr std::size_t most_told = 8;
  for (std::size_t i = 0; i < std::min(count, most_told); ++i) {
    const auto line = lines.find(address_of(first[i]));
    const std::uint64_t offset = file_.offset_of(reinterpret_cast<const void*>(first[i].at));
    const block_table::block in = blocks.find(offset);
    text += fmt::format("{}{} bytes at byte {}, {}, by {}", i == 0 ? "" : "; ", first[i].bytes, offset,
                        in.number == block_table::none ? "which no object has"
                                                       : fmt::format("{} into the object of {} bytes at {}",
                                                                     offset - in.offset, in.bytes, in.offset),
                        line != lines.end() ? line->second
                                            : fmt::format("code at {:#x} of the program (no debug information, or no "
                                                          "addr2line)",
                                                          address_of(first[i])));
  }
  if (all > std::min(count, most_told)) text += fmt::format("; and {} more", all - std::min(count, most_told));
  return text + ". Call change, set or snapshot of the transaction before";
}

}  // namespace situ::detail
