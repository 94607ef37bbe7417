#include "rmem/memory_table.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "os/pages.h"
#include "rmem/handshake.h"

namespace situ::rmem::detail {
namespace {

constexpr std::uint64_t page = situ::detail::page_bytes;
constexpr std::uint64_t slice_bytes = std::uint64_t{1} << offset_bits;

}  // namespace

// A region of the table, with its file.
struct table_region {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t session;
  application_index owner;
  std::uint32_t root = capability_slots::none;
  std::uint32_t capabilities = 0;
  bool is_passed = false;  // to the session's connection
  std::uint64_t room;      // bytes of whole pages
  region_file file;
  std::optional<region_file> next;  // the file that it moves to; nullopt: no reader has the region
  std::uint32_t sharings = 0;       // number of times that sharing with readers has begun
};

memory_table::memory_table(std::uint32_t server, std::uint64_t capacity_bytes, memory_kind kind)
    : server_{server},
      capacity_{capacity_bytes},
      kind_{std::move(kind)},
      next_address_{(std::uint64_t{server} << offset_bits) + page} {}
memory_table::~memory_table() = default;

// --- regions ---

outcome memory_table::no_room(std::uint64_t bytes, application_index owner) const {
  std::uint64_t own = 0;
  for (const auto& [address, each] : regions_) own += each->owner == owner ? each->room : 0;
  std::uint64_t in_regions = 0;
  for (const auto& [address, each] : regions_) in_regions += each->room;
  const std::string for_readers =
      used_ == in_regions ? ""
                          : fmt::format(", {} for clients that have regions mapped", format_bytes(used_ - in_regions));
  return {status::full,
          fmt::format("remote memory is full: server {} has {}, of which {} are taken ({} of them by this application, "
                      "in {} regions altogether{}), and {} were asked for; free regions, or start a server with more",
                      server_, format_bytes(capacity_), format_bytes(used_), format_bytes(own), regions_.size(),
                      for_readers, format_bytes(bytes))};
}

// Returns the first gap from next_address_ on, and then from the slice's start; 0: none. A page on either side of the
// gap stays free.
std::uint64_t memory_table::gap_for(std::uint64_t room) const noexcept {
  const std::uint64_t first = (std::uint64_t{server_} << offset_bits) + page;
  const std::uint64_t last = first - page + (slice_bytes - 1);
  for (std::uint64_t at : {next_address_, first}) {
    auto next = regions_.lower_bound(at);
    if (next != regions_.begin()) at = std::max(at, std::prev(next)->first + std::prev(next)->second->room + page);
    for (; next != regions_.end(); ++next) {
      if (at <= next->first && next->first - at >= room + page) return at;
      at = next->first + next->second->room + page;
    }
    if (at <= last && last - at >= room + page) return at;
  }
  return 0;
}

// Returns null with the reason, or without one if the capacity does not have room for its pages.
std::unique_ptr<memory_table::region> memory_table::make_region(std::uint64_t bytes, outcome& why) const {
  auto fresh = std::make_unique<region>();
  try {
    fresh->file = region_file::make(kind_, bytes, server_);
  } catch (const error& none) {
    why = {status::full, std::string{none.message()}};
    return nullptr;
  }
  fresh->room = fresh->file.stretch.bytes() - region_file::bytes_behind(kind_);
  if (fresh->room > capacity_ - used_) return nullptr;
  return fresh;
}

outcome memory_table::allocate(std::uint64_t bytes, application_index owner, std::uint64_t session, capability& made) {
  if (bytes == 0) return {status::bad_argument, "a region has at least one byte"};
  collect();
  if (bytes > capacity_ || used_ > capacity_ - bytes) return no_room(bytes, owner);
  if (files_of(owner) >= most_regions)
    return {status::full, fmt::format("the application has {} regions, with those that somebody has mapped, and may "
                                      "have no more; free some",
                                      most_regions)};
  if (!has_descriptors(1))
    return {status::full, fmt::format("server {} has {} regions, and no file descriptors for more (RLIMIT_NOFILE); "
                                      "free some, or let the server have more",
                                      server_, regions_.size())};
  outcome why;
  std::unique_ptr<region> fresh = make_region(bytes, why);
  if (fresh == nullptr) return why.text.empty() ? no_room(bytes, owner) : why;
  const std::uint64_t address = gap_for(fresh->room);
  if (address == 0)
    return {status::full, fmt::format("server {} has no addresses left for {}", server_, format_bytes(bytes))};
  fresh->address = address;
  fresh->bytes = bytes;
  fresh->session = session;
  fresh->owner = owner;
  used_ += fresh->room;
  next_address_ = address + fresh->room + page;
  region& placed = *(regions_[address] = std::move(fresh));
  made = add(placed, {address, bytes}, rights::all, any_application, owner, no_slot);
  placed.root = static_cast<std::uint32_t>(made.number);
  return {};
}

bool memory_table::is_owner(application_index who, std::uint64_t address) const noexcept {
  const auto found = regions_.find(address);
  return found != regions_.end() && found->second->owner == who;
}
std::span<const std::byte> memory_table::memory_at(std::uint64_t address) const noexcept {
  const auto found = regions_.find(address);
  if (found == regions_.end()) return {};
  return {found->second->file.mapped.data(), found->second->file.mapped.size()};
}
std::span<const std::byte> memory_table::memory_of(std::uint64_t number,
                                                   const capability_secret& secret) const noexcept {
  const slot* const found = slots_.find(number, secret);
  if (found == nullptr) return {};
  return {found->of->file.mapped.data() + (found->begin - found->of->address), found->end - found->begin};
}

void memory_table::free(std::uint64_t address) noexcept {
  const auto found = regions_.find(address);
  region& ends = *found->second;
  if (ends.root != no_slot) (void)end(ends.root);
  end_sharing(ends);
  used_ -= ends.room;
  retire(std::move(ends.file));
  regions_.erase(found);
}

// --- passing memory ---

outcome memory_table::pass(application_index who, std::uint64_t session, std::uint64_t number,
                           const capability_secret& secret, int& file) {
  const slot* const found = slots_.find(number, secret);
  if (found == nullptr || session == 0 || found->of->session != session || found->of->owner != who ||
      found->of->root != static_cast<std::uint32_t>(number) || found->of->is_passed)
    return {status::denied,
            "a region's memory is for the connection that it ends with, by its first capability, and once"};
  region& of = *found->of;
  if (kind_.has_file() || !watch(of) || !of.file.seal(false))
    return {status::not_supported, "this server's memory is of a kind that cannot be passed, or readers have it"};
  of.is_passed = true;
  file = of.file.stretch.own_file();
  return {};
}

outcome memory_table::pass_to_read(application_index who, const range& whole, std::uint64_t number,
                                   const capability_secret& secret, int& file) {
  if (reach(who, number, secret, whole.address, whole.bytes, rights::read) == nullptr)
    return {status::denied, "no capability to read there"};
  slot& by = slots_[static_cast<std::uint32_t>(number)];
  region& of = *by.of;
  if (whole.address != of.address || whole.bytes != of.bytes)
    return {status::denied, "a region's memory is mapped by a capability for all of it: read a part by messages"};
  if (!of.next)
    if (outcome got = begin_sharing(of); !got.is_ok()) return got;
  by.sharing = of.sharings;
  file = of.file.to_read.number();
  return {};
}

// Returns the number of the owner's files, including files without a region, and those kept for a region to move to.
std::size_t memory_table::files_of(application_index owner) const noexcept {
  std::size_t all = 0;
  for (const auto& [address, each] : regions_) all += each->owner == owner ? (each->next ? 2U : 1U) : 0U;
  return all + passed_.kept_of(owner);
}

bool memory_table::has_descriptors(std::uint64_t wanted) const noexcept {
  std::uint64_t all = 0;
  for (const auto& [address, each] : regions_) all += each->next ? 3U : 1U;
  return all + wanted <= most_files_;
}

// Makes the kernel report when nobody has the region's file any more. Returns false if the kernel cannot.
bool memory_table::watch(region& of) {
  if (of.file.watch < 0) of.file.watch = passed_.watch(of.file.path(), of.owner);
  return of.file.watch >= 0;
}

// Makes the file that the region will move to, and reserves its room.
outcome memory_table::begin_sharing(region& of) {
  collect();
  if (of.is_passed) return {status::not_supported, "a process that writes the region maps its memory"};
  outcome none{status::not_supported, "this server's memory is of a kind that cannot be passed to readers"};
  if (kind_.has_file()) return none;
  if (of.bytes > most_mapped_)
    return {status::not_supported, fmt::format("regions are mapped by readers up to {}", format_bytes(most_mapped_))};
  if (of.room > capacity_ - used_ || files_of(of.owner) >= most_regions)
    return {status::not_supported, "there is no second room for the region, to which it could move from its readers"};
  if (!has_descriptors(2)) return {status::not_supported, "there are no file descriptors for readers (RLIMIT_NOFILE)"};
  std::optional<region_file> next;
  try {
    next = region_file::make(kind_, of.bytes, server_);
  } catch (const error& failure) {
    return {status::not_supported, std::string{failure.message()}};
  }
  if (!of.file.open_to_read() || !watch(of) || !of.file.seal(true)) return none;
  of.next = std::move(next);
  used_ += of.room;
  ++of.sharings;
  return {};
}

void memory_table::end_sharing(region& of) noexcept {
  if (!of.next) return;
  of.file.set_notice();
  used_ -= of.room;
  of.next.reset();
}

// Moves the region to its next file. No write can come in between, since this thread alone writes. The readers' file
// keeps its bytes.
void memory_table::move(region& of) noexcept {
  of.file.copy_to(*of.next, of.room);
  region_file other = std::move(*of.next);
  end_sharing(of);
  std::swap(of.file, other);
  retire(std::move(other));
}

// Counts the file as in use as long as anybody has it.
void memory_table::retire(region_file old) noexcept {
  if (old.watch < 0) return;
  const std::uint64_t kept = old.stretch.bytes() - notice_bytes;
  passed_.keep(old.watch, kept);
  used_ += kept;
  old = {};
  collect();
}

void memory_table::collect() noexcept { used_ -= passed_.collect(); }

std::uint64_t memory_table::holder_at(std::uint64_t address) const noexcept {
  const auto found = regions_.find(address);
  return found != regions_.end() && found->second->is_passed ? found->second->session : 0;
}
std::uint64_t memory_table::holder_by(std::uint64_t number, const capability_secret& secret) const noexcept {
  const slot* const found = slots_.find(number, secret);
  const bool is_root = found != nullptr && found->of->root == static_cast<std::uint32_t>(number);
  return is_root && found->of->is_passed ? found->of->session : 0;
}

std::vector<std::uint64_t> memory_table::regions_of(std::uint64_t session) const {
  std::vector<std::uint64_t> all;
  for (const auto& [address, each] : regions_)
    if (each->session == session) all.push_back(address);
  return all;
}

std::vector<memory_table::region_view> memory_table::list(application_index who, std::uint64_t from,
                                                          std::size_t most) const {
  std::vector<region_view> all;
  for (auto at = regions_.lower_bound(from); at != regions_.end() && all.size() < most; ++at)
    if (const region& each = *at->second; who == any_application || each.owner == who)
      all.push_back({each.address, each.bytes, each.capabilities, each.owner});
  return all;
}

// --- capabilities ---

std::byte* memory_table::reach(application_index who, std::uint64_t number, const capability_secret& secret,
                               std::uint64_t address, std::uint64_t bytes, rights use) const noexcept {
  const slot* const found = slots_.find(number, secret);
  if (found == nullptr || !includes(found->may, use)) return nullptr;
  if (found->for_whom != any_application && found->for_whom != who) return nullptr;
  if (address < found->begin || address > found->end || bytes > found->end - address) return nullptr;
  return found->of->file.mapped.data() + (address - found->of->address);
}

capability memory_table::add(region& of, const range& what, rights may, application_index for_whom,
                             application_index maker, std::uint32_t parent) {
  const std::uint32_t index = slots_.take();
  slot& made = slots_[index];
  made.may = may;
  made.for_whom = for_whom;
  made.maker = maker;
  made.parent = parent;
  made.begin = what.address;
  made.end = what.address + what.bytes;
  made.of = &of;
  fill_random(made.secret);
  if (parent != no_slot) slots_[parent].children.push_back(index);
  ++of.capabilities;
  return {what.address, what.bytes, may, slots_.number_of(index), made.secret};
}

outcome memory_table::grant(application_index who, const capability& from, const range& of, rights may,
                            application_index to, capability& made) {
  if (reach(who, from.number, from.secret, of.address, of.bytes, may | rights::grant) == nullptr)
    return {status::denied, "no capability for that range with these rights and the right to grant"};
  const auto parent = static_cast<std::uint32_t>(from.number);
  region& within = *slots_[parent].of;
  if (within.capabilities >= most_capabilities)
    return {status::full, fmt::format("there are {} capabilities for the region, and may be no more; revoke some",
                                      most_capabilities)};
  made = add(within, of, may, to, who, parent);
  return {};
}

outcome memory_table::revoke(application_index who, std::uint64_t number, const capability_secret& secret) {
  const slot* const found = slots_.find(number, secret);
  if (found == nullptr || (found->maker != who && found->of->owner != who))
    return {status::denied, "no such capability, or another application made it"};
  revoke(static_cast<std::uint32_t>(number));
  return {};
}
void memory_table::revoke(std::uint32_t index) noexcept {
  region& of = *slots_[index].of;
  if (end(index)) move(of);
}

// Ends a capability and its descendants. Returns true if readers have the region's memory by any of them. The list of
// children may be long, but the function does not recurse.
bool memory_table::end(std::uint32_t index) noexcept {
  bool has_readers = false;
  const std::uint32_t parent = slots_[index].parent;
  if (parent != no_slot) std::erase(slots_[parent].children, index);
  if (slots_[index].of->root == index) slots_[index].of->root = no_slot;
  for (std::uint32_t at = index;;) {
    slot& ends = slots_[at];
    if (!ends.children.empty()) {
      const std::uint32_t child = ends.children.back();
      ends.children.pop_back();
      at = child;
      continue;
    }
    const std::uint32_t up = ends.parent;
    has_readers = has_readers || (ends.of->next && ends.sharing == ends.of->sharings);
    --ends.of->capabilities;
    slots_.release(at);
    if (at == index) return has_readers;
    at = up;
  }
}

// --- for replicas ---

void memory_table::reset(std::uint32_t server) noexcept {
  regions_.clear();
  passed_.clear();
  slots_.clear();
  used_ = 0;
  server_ = server;
  next_address_ = (std::uint64_t{server} << offset_bits) + page;
}

bool memory_table::place_region(const range& where, application_index owner, std::uint64_t session,
                                std::uint64_t number, const capability_secret& secret) {
  if (where.bytes == 0 || where.bytes > capacity_ - used_ || where.address % page != 0 || where.address == 0 ||
      server_of(where.address) != server_ || (number != 0 && !capability_slots::is_number(number)))
    return false;
  if (number != 0 && slots_.is_used(static_cast<std::uint32_t>(number))) return false;
  outcome why;
  std::unique_ptr<region> fresh = make_region(where.bytes, why);
  if (fresh == nullptr) return false;
  const auto next = regions_.lower_bound(where.address);
  if (next != regions_.end() && next->first - where.address < fresh->room + page) return false;
  if (next != regions_.begin())
    if (const region& before = *std::prev(next)->second; before.address + before.room + page > where.address)
      return false;
  fresh->address = where.address;
  fresh->bytes = where.bytes;
  fresh->session = session;
  fresh->owner = owner;
  used_ += fresh->room;
  next_address_ = where.address + fresh->room + page;
  region& placed = *(regions_[where.address] = std::move(fresh));
  if (number == 0) return true;
  slot& root = slots_.take(number);
  placed.root = static_cast<std::uint32_t>(number);
  root.may = rights::all;
  root.for_whom = any_application;
  root.maker = owner;
  root.parent = no_slot;
  root.begin = where.address;
  root.end = where.address + where.bytes;
  root.of = &placed;
  root.secret = secret;
  ++placed.capabilities;
  return true;
}

bool memory_table::place_capability(const capability_view& as) {
  const slot* const from = slots_.find(as.parent);
  const auto index = static_cast<std::uint32_t>(as.number);
  if (from == nullptr || !capability_slots::is_number(as.number) || slots_.is_used(index)) return false;
  if (as.of.address < from->begin || as.of.address > from->end || as.of.bytes > from->end - as.of.address) return false;
  if (!includes(from->may, as.may)) return false;
  region& within = *from->of;
  slot& made = slots_.take(as.number);
  made.may = as.may;
  made.for_whom = as.for_whom;
  made.maker = as.maker;
  made.parent = static_cast<std::uint32_t>(as.parent);
  made.begin = as.of.address;
  made.end = as.of.address + as.of.bytes;
  made.of = &within;
  made.secret = *as.secret;
  slots_[made.parent].children.push_back(index);
  ++within.capabilities;
  return true;
}

bool memory_table::drop_capability(std::uint64_t number) noexcept {
  if (slots_.find(number) == nullptr) return false;
  revoke(static_cast<std::uint32_t>(number));
  return true;
}

std::span<std::byte> memory_table::bytes_at(const range& where) const noexcept {
  auto at = regions_.upper_bound(where.address);
  if (at == regions_.begin()) return {};
  const region& of = *(--at)->second;
  const std::uint64_t offset = where.address - of.address;
  if (offset > of.bytes || where.bytes > of.bytes - offset) return {};
  return {of.file.mapped.data() + offset, where.bytes};
}

std::span<const std::byte> memory_table::bytes_from(std::uint64_t& address) const noexcept {
  auto at = regions_.upper_bound(address);
  if (at != regions_.begin())
    if (const region& of = *std::prev(at)->second; address - of.address < of.bytes)
      return {of.file.mapped.data() + (address - of.address), of.bytes - (address - of.address)};
  if (at == regions_.end()) return {};
  address = at->first;
  return {at->second->file.mapped.data(), at->second->bytes};
}

void memory_table::for_each_region(const std::function<void(const range&, application_index, std::uint64_t,
                                                            std::uint64_t, const capability_secret&)>& call) const {
  for (const auto& [address, each] : regions_) {
    const bool has_root = each->root != no_slot;
    call({address, each->bytes}, each->owner, each->session, has_root ? slots_.number_of(each->root) : 0,
         has_root ? slots_[each->root].secret : capability_secret{});
  }
}

void memory_table::for_each_grant(const std::function<void(const capability_view&)>& call) const {
  std::vector<std::uint32_t> open;
  for (const auto& [address, each] : regions_)
    if (each->root != no_slot) open.push_back(each->root);
  while (!open.empty()) {
    const std::uint32_t from = open.back();
    open.pop_back();
    for (const std::uint32_t index : slots_[from].children) {
      const slot& each = slots_[index];
      call({{each.begin, each.end - each.begin},
            each.may,
            each.for_whom,
            each.maker,
            slots_.number_of(index),
            slots_.number_of(from),
            &each.secret});
      open.push_back(index);
    }
  }
}

}  // namespace situ::rmem::detail
