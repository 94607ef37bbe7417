#include "model/execution/coherence_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "model/execution/stacks.h"

namespace situ::model {
namespace {

constexpr std::size_t most_lines = 20;

std::string code_text(std::uintptr_t at) { return at == 0 ? "nobody's code" : name_of_code(at - 1); }
std::string tile_text(std::uint32_t tile) { return tile == none ? "a device" : fmt::format("tile {}", tile); }

std::string line_of(std::uint64_t count, const coherence_report& first) {
  if (first.kind == coherence_report::what::stale_read)
    return fmt::format("  {} stale reads in {}: first {} read {:#x} without what {} had written in {}\n", count,
                       code_text(first.at), tile_text(first.tile), first.address, tile_text(first.other_tile),
                       code_text(first.other_at));
  return fmt::format("  {} lost writes by {}: first {} overwrote at {:#x} what {} had written in {}\n", count,
                     code_text(first.at), tile_text(first.tile), first.address, tile_text(first.other_tile),
                     code_text(first.other_at));
}

}  // namespace

void coherence_log::note(const coherence_report& found) {
  ++(found.kind == coherence_report::what::stale_read ? stale_reads_ : lost_writes_);
  entry& each = entries_[{found.kind, found.at, found.other_at}];
  if (each.count++ == 0) each.first = found;
}

std::string coherence_log::text() const {
  std::string made = fmt::format("coherence: {} stale reads, {} lost writes\n", stale_reads_, lost_writes_);
  std::vector<const entry*> all;
  for (const auto& [key, each] : entries_) all.push_back(&each);
  std::ranges::stable_sort(all, [](const entry* a, const entry* b) { return a->count > b->count; });
  for (std::size_t i = 0; i < std::min(all.size(), most_lines); ++i) made += line_of(all[i]->count, all[i]->first);
  if (all.size() > most_lines) made += fmt::format("  and {} more\n", all.size() - most_lines);
  return made;
}

}  // namespace situ::model
