#include "model/execution/coherence_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "model/execution/stacks.h"
#include "os/source_lines.h"

namespace situ::model {
namespace {

constexpr std::size_t most_lines = 20;

using lines = std::map<std::uintptr_t, std::string>;

// Returns the function and its source line. `at` is the return address of the hook's call.
std::string code_text(std::uintptr_t at, const lines& known) {
  if (at == 0) return "nobody's code";
  const auto line = known.find(at - 1);
  return line == known.end() ? name_of_code(at - 1) : fmt::format("{} ({})", function_name(at - 1), line->second);
}
std::string tile_text(std::uint32_t tile) { return tile == none ? "a device" : fmt::format("tile {}", tile); }

std::string line_of(std::uint64_t count, const coherence_report& first, const lines& known) {
  const std::string code = code_text(first.at, known), other = code_text(first.other_at, known);
  if (first.kind == coherence_report::what::stale_read)
    return fmt::format("  {} stale reads in {}: first {} read {:#x} without what {} had written in {}\n", count, code,
                       tile_text(first.tile), first.address, tile_text(first.other_tile), other);
  if (first.tile == first.other_tile)
    return fmt::format("  {} lost writes by {}: first {} dropped at {:#x} what it had itself written in {}\n", count,
                       code, tile_text(first.tile), first.address, other);
  return fmt::format("  {} lost writes by {}: first {} overwrote at {:#x} what {} had written in {}\n", count, code,
                     tile_text(first.tile), first.address, tile_text(first.other_tile), other);
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
  const std::size_t shown = std::min(all.size(), most_lines);
  std::vector<std::uintptr_t> code;
  for (std::size_t i = 0; i < shown; ++i)
    for (const std::uintptr_t at : {all[i]->first.at, all[i]->first.other_at})
      if (at != 0) code.push_back(at - 1);
  const lines known = detail::source_lines(code);
  for (std::size_t i = 0; i < shown; ++i) made += line_of(all[i]->count, all[i]->first, known);
  if (all.size() > most_lines) made += fmt::format("  and {} more\n", all.size() - most_lines);
  return made;
}

}  // namespace situ::model
