#include <situ/memory/placement.h>

#include <situ/base/error_code.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "memory/segment.h"
#include "os/host.h"

namespace situ {
namespace detail {
namespace {

void add(memory_placement& to, const std::string& memory, std::uint32_t node, std::uint64_t bytes) {
  if (bytes == 0) return;
  for (memory_part& part : to.parts)
    if (part.memory == memory) {
      part.bytes += bytes;
      return;
    }
  to.parts.push_back({memory, node, bytes});
}

std::string name_of(std::uint32_t node) {
  const machine::tree& here = orderings_here().machine();
  const machine::node_id id = here.memory(node);
  return id == machine::no_node ? fmt::format("node {}", node) : here.label(id);
}

// Fills in the placement from the kernel's report on each page.
void ask(memory_placement& to, const std::byte* address, std::size_t bytes) {
  page_locations pages = locate_pages(address, bytes);
  if (pages.error == 0 && pages.absent_bytes != 0) {
    map_existing(address, bytes);
    pages = locate_pages(address, bytes);
  }
  if (pages.error != 0)
    throw_error(errc::not_supported,
                fmt::format("the kernel does not tell where pages are: {}", std::strerror(pages.error)));
  for (std::uint32_t node = 0; node < pages.node_bytes.size(); ++node)
    add(to, name_of(node), node, pages.node_bytes[node]);
  to.untouched_bytes += pages.absent_bytes;
}

// Returns the bytes of a range that were never touched.
std::size_t untouched_of(const std::byte* address, std::size_t bytes) {
  map_existing(address, bytes);
  return std::min<std::size_t>(locate_pages(address, bytes).absent_bytes, bytes);
}

// Fills in the placement from the choices made when a unit of 2 MiB was placed: `bytes` of the unit count.
void recall(memory_placement& to, const machine::memory_order& order, const placement_report& report,
            std::size_t bytes) {
  std::size_t index = 0;
  std::uint64_t all = 0;
  for (const memory_fill& row : report.memories) all += row.placed_bytes;
  for (const auto& step : order.steps)
    for (const machine::ordered_memory& memory : step)
      add(to, memory.name, memory.node,
          bytes * report.memories[index++].placed_bytes / std::max<std::uint64_t>(all, 1));
}

// Returns the bytes of a unit of 2 MiB that the kernel's policy placed, if `bytes` of the unit count.
std::uint64_t by_kernel(const placement_report& report, std::size_t bytes) {
  return bytes * report.by_kernel_bytes / std::max<std::uint64_t>(report.placed_bytes, 1);
}

bool has_budgets(const placement_report& report) {
  return std::any_of(report.memories.begin(), report.memories.end(),
                     [](const memory_fill& row) { return row.memory.budget != nullptr; });
}

}  // namespace

memory_placement placement_of(const void* address) {
  const place_context& context = *current;
  if (context.segment == nullptr) throw_no_runtime("the placement of a block is asked for");
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const auto found = segment::find_block(context, start);
  if (!found || !found->live || found->start != start || (start - context.base) >> context.slice_shift != context.place)
    throw_error(errc::bad_address,
                fmt::format("placement({:#x}) at place {}: no live block of this place starts there; "
                            "pass what situ::allocate returned here",
                            start, context.place));
  memory_placement result;
  const intent_arenas* const placed = context.segment->placed();
  const auto* at = static_cast<const std::byte*>(address);
  if (const intent_arenas::part* const moved = placed == nullptr ? nullptr : placed->find_moved(at)) {
    result.intent = placed->what(moved->arena).name();
    if (!has_budgets(moved->report)) {
      ask(result, at, found->size);
      return result;
    }
    result.untouched_bytes = untouched_of(at, found->size);
    recall(result, placed->order(moved->arena), moved->report, found->size - result.untouched_bytes);
    return result;
  }
  const std::byte* const end = at + found->size;
  while (at != end) {
    const auto next = (reinterpret_cast<std::uintptr_t>(at) / huge_page_bytes + 1) * huge_page_bytes;
    const std::size_t bytes =
        std::min<std::size_t>(next - reinterpret_cast<std::uintptr_t>(at), static_cast<std::size_t>(end - at));
    const intent_arenas::part* const part = placed == nullptr ? nullptr : placed->find(at);
    if (part != nullptr) {
      result.intent = placed->what(part->arena).name();
      result.by_kernel_bytes += by_kernel(part->report, bytes);
    }
    if (part != nullptr && has_budgets(part->report)) {
      const std::size_t untouched = placed->populates(part->arena) ? 0 : untouched_of(at, bytes);
      recall(result, placed->order(part->arena), part->report, bytes - untouched);
      result.untouched_bytes += untouched;
    } else {
      ask(result, at, bytes);
    }
    at += bytes;
  }
  return result;
}

}  // namespace detail

std::string memory_placement::to_text() const {
  std::string text;
  for (const memory_part& part : parts)
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", format_bytes(part.bytes), part.memory);
  if (untouched_bytes != 0)
    text += fmt::format("{}{} untouched", text.empty() ? "" : ", ", format_bytes(untouched_bytes));
  return text;
}

}  // namespace situ
