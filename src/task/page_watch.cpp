#include "task/page_watch.h"

#include <situ/base/detail/assert.h>
#include <situ/base/error_code.h>
#include <situ/base/log.h>
#include <situ/memory/allocate.h>
#include <situ/task/watched_array.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "os/host.h"
#include "os/mapping_error.h"
#include "task/graph_core.h"

namespace situ::detail {
namespace {

constexpr std::size_t longest_array_name = 40;  // in a message, which has room for 600 characters
constexpr int most_regions = 3;                 // in a message

// The rights of the unit that this thread runs; of the innermost one if units run graphs of their own.
constinit thread_local unit_pages* innermost = nullptr;

std::uintptr_t address_of(const void* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }

// Returns whether every page of the range is mapped, readable and writable.
bool has_all_rights(std::uintptr_t begin, std::uintptr_t end) {
  std::ifstream maps{"/proc/self/maps"};
  std::string line;
  while (begin < end && std::getline(maps, line)) {  // in the order of addresses
    unsigned long long from = 0;
    unsigned long long to = 0;
    char can[5] = "";
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &from, &to, can) != 3 || to <= begin) continue;
    if (from > begin || can[0] != 'r' || can[1] != 'w') return false;
    begin = to;
  }
  return begin >= end;
}

// Calls visit(begin, end) with the addresses of each row.
template <class Visit>
void visit_rows(const memory_region& region, Visit visit) noexcept {
  for (std::size_t row = 0; row < region.rows && region.bytes != 0; ++row) {
    const std::uintptr_t begin = address_of(region.begin) + row * region.stride;
    visit(begin, begin + region.bytes);
  }
}

const char* name_of(access_mode mode) noexcept {
  return mode == access_mode::read ? "reads" : mode == access_mode::write ? "writes" : "updates";
}

}  // namespace

page_watch::page_watch(graph_core& core, const named_array& array, os::mapping own)
    : core_{core}, array_{array}, own_{std::move(own)} {
  if (!core.checks_pages()) return;
  core.check_new_watch(array_.begin, array_.bytes);
  {
    const unit_pages::lifted as_memory_is;
    find_pages();
  }
  if (rights_.empty()) return;
  entry_.emplace(*this);
  if (!entry_->is_explained()) {
    entry_.reset();
    rights_.clear();
    warn("256 arrays are watched already");
    return;
  }
  core.add_watch(*this);
}

page_watch::~page_watch() {
  if (!entry_) return;
  core_.remove_watch(*this);
  release();
}

void page_watch::warn(const std::string& why) const {
  log(log_level::warning, fmt::format("array {} ({} bytes) is not watched: {}", array_.name, array_.bytes, why));
}

void page_watch::find_pages() {
  std::uintptr_t begin = address_of(array_.begin);
  std::uintptr_t end = begin + array_.bytes;
  if (own_) {
    end = begin + own_.bytes();
  } else {
    begin = (begin + page_bytes - 1) & ~(page_bytes - 1);
    end &= ~(page_bytes - 1);
    if (begin >= end)
      return warn(
          fmt::format("it shares its pages of {} bytes with other data: let situ::watched_array make it, on "
                      "pages of its own",
                      page_bytes));
    if (!has_all_rights(begin, end)) return warn("not all its pages are readable and writable");
  }
  first_ = reinterpret_cast<std::byte*>(begin);
  rights_.assign((end - begin) / page_bytes, rights::all);
}

std::size_t page_watch::watched_bytes() const noexcept { return rights_.size() * page_bytes; }

// --- rights ---------------------------------------------------------------------------------------------------------

template <class Visit>
void page_watch::visit_pages(const declared_access& access, Visit visit) const noexcept {
  const std::uintptr_t first = address_of(first_);
  const std::uintptr_t last = first + watched_bytes();
  visit_rows(access.region, [&](std::uintptr_t begin, std::uintptr_t end) {
    if (end <= first || last <= begin) return;
    visit((std::max(begin, first) - first) / page_bytes, (std::min(end, last) - first + page_bytes - 1) / page_bytes);
  });
}

std::size_t page_watch::set_rights(std::size_t pages, bool is_over) const noexcept {
  for (std::size_t begin = 0, end = 0; begin < pages; begin = end) {
    const rights now = rights_[begin];
    for (end = begin; end < pages && rights_[end] == now;) ++end;
    if (now == rights::all) continue;
    const int protection = is_over ? PROT_READ | PROT_WRITE : now == rights::reads ? PROT_READ : PROT_NONE;
    if (!os::protect(first_ + begin * page_bytes, (end - begin) * page_bytes, protection)) return begin;
  }
  return pages;
}

void page_watch::restrict_to(const work_unit& unit) noexcept {
  std::ranges::fill(rights_, rights::none);
  for (const declared_access& each : *unit.declared)
    visit_pages(each, [&](std::size_t begin, std::size_t end) {
      const rights declared = each.mode == access_mode::read ? rights::reads : rights::all;
      for (std::size_t i = begin; i < end; ++i) rights_[i] = std::max(rights_[i], declared);
    });
  unit_.store(&unit, std::memory_order_release);
  const std::size_t done = set_rights(rights_.size(), false);
  if (done == rights_.size()) return;
  if (refusal_ == 0) refusal_ = errno;
  (void)set_rights(done, true);
  std::ranges::fill(rights_, rights::all);
}

void page_watch::release() noexcept {
  if (unit_.load(std::memory_order_relaxed) == nullptr) return;
  const bool is_given_back = set_rights(rights_.size(), true) == rights_.size();
  SITU_ASSERT(1, is_given_back, "the program has unmapped a watched array: destroy the situ::watched_array first");
  unit_.store(nullptr, std::memory_order_release);
}

void page_watch::warn_of_refusal() {
  if (refusal_ == 0 || std::exchange(has_warned_, true)) return;
  warn(fmt::format("the system does not protect its pages for some units: {}", why_not_mapped(refusal_)));
}

unit_pages::unit_pages(const std::vector<page_watch*>& watches, const work_unit& unit) noexcept
    : watches_{watches}, unit_{unit}, outer_{innermost} {
  innermost = this;
  for (page_watch* const each : watches_) each->restrict_to(unit_);
}

unit_pages::~unit_pages() {
  for (page_watch* const each : watches_) each->release();
  innermost = outer_;
  impose(innermost);
}

unit_pages::lifted::lifted() noexcept {
  for (const unit_pages* of = innermost; of != nullptr; of = of->outer_)
    for (page_watch* const each : of->watches_) each->release();
}

unit_pages::lifted::~lifted() { impose(innermost); }

void unit_pages::impose(const unit_pages* of) noexcept {
  if (of == nullptr) return;
  impose(of->outer_);
  for (page_watch* const each : of->watches_) each->restrict_to(of->unit_);
}

// --- messages -------------------------------------------------------------------------------------------------------

bool page_watch::allows(const work_unit& unit, std::size_t page, bool is_write) const noexcept {
  bool is_allowed = false;
  for (const declared_access& each : *unit.declared)
    visit_pages(each, [&](std::size_t begin, std::size_t end) {
      is_allowed |= begin <= page && page < end && (!is_write || each.mode != access_mode::read);
    });
  return is_allowed;
}

bool page_watch::explain(std::uintptr_t address, bool is_write, fault_text& to) const noexcept {
  const work_unit* const unit = unit_.load(std::memory_order_acquire);
  const std::uintptr_t into_pages = address - address_of(first_);
  if (unit == nullptr || into_pages >= watched_bytes()) return false;
  const std::size_t page = into_pages / page_bytes;
  if (allows(*unit, page, is_write)) return false;
  const bool is_of_unit = checked_unit != nullptr;
  if (is_of_unit)
    write_unit(*unit, to);
  else
    to << "a thread that runs no unit";
  const std::uintptr_t offset = address - address_of(array_.begin);
  const std::string_view name = std::string_view{array_.name}.substr(0, longest_array_name);
  to << (is_write ? " writes " : " reads ") << name << "[" << offset / array_.element_bytes << "] (byte " << offset
     << "), ";
  if (offset >= array_.bytes) to << "past its " << array_.bytes / array_.element_bytes << " elements, ";
  if (!is_of_unit) {
    to << "while ";
    write_unit(*unit, to);
    to << " runs, ";
  }
  const bool is_declared_to_be_read = is_write && allows(*unit, page, false);
  to << "which " << (is_of_unit ? "it" : "that unit")
     << (is_declared_to_be_read ? " has declared to read only: " : " has not declared: ");
  write_remedy(is_write, to);
  to << ".\n  Of " << name << " it has declared ";
  write_declared(*unit, to);
  to << ".\n  Page protection sees loads and stores by any code, but whole pages of " << page_bytes
     << " bytes alone: none to the rest of a declared page, and no system calls (they fail: EFAULT)";
  return true;
}

// Writes "reads [0, 512), updates [600, 604) and 2 more rows".
void page_watch::write_declared(const work_unit& unit, fault_text& to) const noexcept {
  const std::uintptr_t first = address_of(array_.begin);
  const std::uintptr_t last = first + array_.bytes;
  int regions = 0;
  for (const declared_access& each : *unit.declared) {
    std::uint64_t rows = 0;
    visit_rows(each.region, [&](std::uintptr_t begin, std::uintptr_t end) {
      if (end <= first || last <= begin || ++rows > 1 || ++regions > most_regions) return;
      const std::uint64_t from = (std::max(begin, first) - first) / array_.element_bytes;
      const std::uint64_t to_element = (std::min(end, last) - first + array_.element_bytes - 1) / array_.element_bytes;
      to << (regions > 1 ? ", " : "") << name_of(each.mode) << " [" << from << ", " << to_element << ")";
    });
    if (rows > 1 && regions <= most_regions) to << " and " << rows - 1 << " more rows";
  }
  if (regions == 0) to << "nothing";
  if (regions > most_regions) to << " and " << static_cast<std::uint64_t>(regions - most_regions) << " more";
}

// --- the interface ---------------------------------------------------------------------------------------------------

void end_watch::operator()(page_watch* watch) const noexcept { delete watch; }

watch_owner watch_array(graph_core& core, const char* name, const void* begin, std::size_t bytes,
                        std::size_t element_bytes) {
  if (!core.checks_pages()) return nullptr;
  auto* const at = static_cast<std::byte*>(const_cast<void*>(begin));
  return watch_owner{new page_watch{core, {name, at, bytes, element_bytes}, {}}};
}

watch_owner make_watched(graph_core& core, const char* name, std::size_t count, std::size_t element_bytes) {
  const std::size_t bytes = bytes_for(count, element_bytes);
  const std::size_t whole = (std::max<std::size_t>(bytes, 1) + page_bytes - 1) & ~(page_bytes - 1);
  os::mapping own = os::mapping::anywhere(whole, PROT_READ | PROT_WRITE, os::backing::zeros());
  if (!own)
    throw_error(errc::out_of_memory,
                fmt::format("array {}: no addresses for {} bytes: {}", name, bytes, why_not_mapped(errno)));
  std::byte* const begin = own.begin();
  return watch_owner{new page_watch{core, {name, begin, bytes, element_bytes}, std::move(own)}};
}

void* elements_of(const page_watch& watch) noexcept { return watch.elements(); }
std::size_t watched_bytes_of(const page_watch& watch) noexcept { return watch.watched_bytes(); }

}  // namespace situ::detail
