#include "model/execution/object_log.h"

#include <fmt/format.h>
#include <unwind.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "model/execution/stacks.h"

namespace situ::model {
namespace {

constexpr std::size_t most_calls = 12;  // of a block's origin: as many as a container takes without inlining
constexpr int most_frames = 64;         // of the stack that are looked at for these
constexpr std::uintptr_t page_bytes = 4096;

struct walk {
  std::uintptr_t from;  // calls count from this return address on
  std::vector<std::uintptr_t>& calls;
  bool has_begun = false;
  int frames = 0;
};

bool is_programs(std::uintptr_t code) noexcept {
  return code >= reinterpret_cast<std::uintptr_t>(&__executable_start) &&
         code < reinterpret_cast<std::uintptr_t>(&etext);
}

_Unwind_Reason_Code note_frame(_Unwind_Context* frame, void* given) {
  walk& here = *static_cast<walk*>(given);
  const std::uintptr_t at = _Unwind_GetIP(frame);
  if (at == 0 || ++here.frames > most_frames || here.calls.size() == most_calls) return _URC_END_OF_STACK;
  here.has_begun |= at == here.from;
  if (here.has_begun && is_programs(at)) here.calls.push_back(at);
  return _URC_NO_REASON;
}

std::uintptr_t address_of(const void* at) noexcept { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

constinit object_log* the_objects = nullptr;

std::uint32_t object_log::site_of_calls(object_kind kind, const void* caller) {
  std::vector<std::uintptr_t> calls;
  walk here{.from = address_of(caller), .calls = calls};
  _Unwind_Backtrace(&note_frame, &here);
  const auto [at, is_new] = by_calls_.try_emplace({kind, std::move(calls)}, static_cast<std::uint32_t>(sites_.size()));
  if (is_new) sites_.push_back({.kind = kind, .name = {}, .calls = at->first.second, .counts = {}});
  return at->second;
}

std::uint32_t object_log::named_site(object_kind kind, std::string name, std::uint64_t bytes) {
  const auto [at, is_new] = by_name_.try_emplace({kind, std::move(name)}, static_cast<std::uint32_t>(sites_.size()));
  if (is_new)
    sites_.push_back({.kind = kind,
                      .name = at->first.second,
                      .calls = {},
                      .objects = 1,
                      .bytes = bytes,
                      .most_bytes = bytes,
                      .counts = {}});
  return at->second;
}

void object_log::add(std::uintptr_t from, const void* at, std::size_t bytes, std::uint32_t site) {
  const std::uintptr_t begin = address_of(at);
  ranges_[from] = {.begin = begin, .end = begin + bytes, .site = site};
  object_site& its = sites_[site];
  ++its.objects;
  its.bytes += bytes;
  its.most_bytes = std::max(its.most_bytes, its.bytes);
  last_.clear();
}

void object_log::add_block(const void* header, const void* block, std::size_t bytes, const void* caller) {
  add(address_of(header), block, bytes, site_of_calls(object_kind::block, caller));
}

void object_log::add_mapping(const void* at, std::size_t bytes, const void* caller) {
  remove_mappings(at, bytes);
  add(address_of(at), at, bytes, site_of_calls(object_kind::mapping, caller));
}

void object_log::resize(const void* block, std::size_t bytes) {
  const auto after = ranges_.upper_bound(address_of(block));
  if (after == ranges_.begin() || std::prev(after)->second.begin != address_of(block)) return;
  range& its = std::prev(after)->second;
  object_site& site = sites_[its.site];
  site.bytes = site.bytes + bytes - (its.end - its.begin);
  site.most_bytes = std::max(site.most_bytes, site.bytes);
  its.end = its.begin + bytes;
  last_.clear();
}

void object_log::remove(std::map<std::uintptr_t, range>::iterator which) {
  sites_[which->second.site].bytes -= which->second.end - which->second.begin;
  ranges_.erase(which);
  last_.clear();
}

void object_log::remove(const void* block) {
  const auto after = ranges_.upper_bound(address_of(block));
  if (after != ranges_.begin() && std::prev(after)->second.begin == address_of(block)) remove(std::prev(after));
}

// Takes whole pages from the mappings that have them. The rest of a mapping stays one object, in up to two ranges.
void object_log::remove_mappings(const void* at, std::size_t bytes) {
  const std::uintptr_t begin = address_of(at);
  const std::uintptr_t end = (begin + bytes + page_bytes - 1) / page_bytes * page_bytes;
  auto each = ranges_.lower_bound(begin);
  if (each != ranges_.begin() && std::prev(each)->second.end > begin) --each;
  while (each != ranges_.end() && each->second.begin < end) {
    const auto next = std::next(each);
    const range old = each->second;
    if (object_site& site = sites_[old.site]; site.kind == object_kind::mapping) {
      remove(each);
      for (const auto& [from, to] : {std::pair{old.begin, std::min(begin, old.end)}, std::pair{end, old.end}}) {
        if (from >= to) continue;
        ranges_[from] = {.begin = from, .end = to, .site = old.site};
        site.bytes += to - from;
      }
    }
    each = next;
  }
}

void object_log::add_segment(std::uint32_t place, std::uintptr_t begin, std::uintptr_t end) {
  ranges_[begin] = {.begin = begin,
                    .end = end,
                    .site = named_site(object_kind::segment, fmt::format("segment of place {}", place), end - begin)};
  last_.clear();
}

object_log::found_range object_log::look_up(const std::vector<thread*>& threads, std::uintptr_t address) {
  const auto after = ranges_.upper_bound(address);
  if (after != ranges_.begin()) {
    const auto& [from, its] = *std::prev(after);
    if (address < its.end) return {.from = from, .to = its.end, .object = its};
  }
  const auto named = [&](object_kind kind, std::string name, std::uintptr_t from, std::uintptr_t to) {
    const std::uint32_t site = named_site(kind, std::move(name), to - from);
    return found_range{.from = from, .to = to, .object = {.begin = from, .end = to, .site = site}};
  };
  if (const named_range variable = variable_around(address); !variable.name.empty())
    return named(object_kind::variable, variable.name, variable.begin, variable.end);
  for (const thread* const each : threads)
    if (each->host != nullptr && address - each->host->stack_begin() < each->host->stack_bytes())
      return named(object_kind::stack, fmt::format("stack and thread-local variables of thread {}", each->index),
                   each->host->stack_begin(), each->host->stack_begin() + each->host->stack_bytes());
  const std::uintptr_t page = address & ~(page_bytes - 1);
  found_range rest = named(object_kind::other, address >= first_library_address ? "libraries" : "other memory", page,
                           page + page_bytes);
  rest.to = rest.from;  // other objects may be on the page
  return rest;
}

const object_log::found_range& object_log::find(const core& by, const std::vector<thread*>& threads,
                                                std::uintptr_t address) {
  if (by.index >= last_.size()) last_.resize(by.index + 1);
  found_range& last = last_[by.index];
  if (address < last.from || address >= last.to) last = look_up(threads, address);
  return last;
}

std::uint32_t object_log::number_on_line(const range& object) {
  const auto [at, is_new] =
      numbers_.try_emplace({object.site, object.begin}, static_cast<std::uint32_t>(on_lines_.size()));
  if (is_new) on_lines_.push_back({.site = object.site, .begin = object.begin});
  return at->second;
}

void object_log::note(const core& by, const std::vector<thread*>& threads, const noted_access& of) {
  const range object = find(by, threads, of.address).object;
  object_counts& counts = sites_[object.site].counts;
  ++counts.accesses;
  counts.misses += of.is_miss ? 1 : 0;
  counts.sharing.coherence_misses += of.sharing.coherence_misses;
  counts.sharing.upgrades += of.sharing.upgrades;
  counts.waited += of.waited;
  const std::uintptr_t line = of.address >> line_shift_;
  if (!shared_.follows(line)) return;
  const std::uint32_t piece_shift = line_shift_ < 6 ? 0 : line_shift_ - 6;
  const std::uintptr_t in_line = of.address & ((std::uintptr_t{1} << line_shift_) - 1);
  const std::uintptr_t first = in_line >> piece_shift;
  const std::uintptr_t last = std::min<std::uintptr_t>((in_line + of.bytes - 1) >> piece_shift, 63);
  shared_.access({.core = by.of_core,  // hardware threads of one core have its lines

                  .line = line,
                  .bytes = ~std::uint64_t{0} >> (63 - (last - first)) << first,
                  .object = number_on_line(object),
                  .writes = changes(of.kind),
                  .reads = of.kind != access_kind::write && of.kind != access_kind::atomic_write,
                  .is_miss = of.is_miss,
                  .is_coherence_miss = of.sharing.coherence_misses != 0,
                  .is_upgrade = of.sharing.upgrades != 0},
                 [&](std::uint32_t number) { ++sites_[on_lines_[number].site].counts.falsely; });
}

void object_log::end() {
  shared_.end([&](std::uint32_t number) { ++sites_[on_lines_[number].site].counts.falsely; });
}

}  // namespace situ::model
