// The functions behind staged_array: make arrays over stores, find the tiles that a region touches, and explain faults.
#include <situ/task/staged_array.h>

#include <situ/base/error.h>
#include <situ/memory/allocate.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "task/graph_core.h"
#include "task/staging.h"

namespace situ::detail {
namespace {

// Tiles in memory at a time: a process has 65530 mappings, and a tile takes two.
constexpr std::size_t most_tiles = 20'000;

std::size_t whole(std::size_t bytes, std::size_t of) { return (bytes + of - 1) / of * of; }

staging_plan make_plan(std::string name, element_count elements, const staging_options& options) {
  const std::size_t tile_bytes = options.tile_bytes, bytes = bytes_for(elements.count, elements.bytes_each);
  if (tile_bytes == 0 || tile_bytes % page_bytes != 0)
    throw error{errc::bad_argument, fmt::format("tiles of {} bytes: give a multiple of {}", tile_bytes, page_bytes)};
  const std::size_t tiles = whole(bytes, tile_bytes) / tile_bytes;
  std::size_t budget = options.budget_bytes / tile_bytes;
  if (budget == 0)
    throw error{errc::bad_argument, fmt::format("a budget of {} bytes holds no tile of {}: give more, or smaller tiles",
                                                options.budget_bytes, tile_bytes)};
  budget = std::min(budget, std::max<std::size_t>(tiles, 1));
  if (budget > most_tiles)
    throw error{errc::bad_argument,
                fmt::format("a budget of {} tiles, each of which is a mapping: give tiles of {} bytes or more", budget,
                            whole(options.budget_bytes / most_tiles + 1, page_bytes))};
  return {std::move(name), bytes, elements.bytes_each, tile_bytes, tiles, budget};
}

staging_owner open_planned(graph_core& core, staging_plan plan, std::shared_ptr<backing_store> store,
                           const staging_options& options) {
  return staging_owner{new staging{core, std::move(plan), std::move(store), page_source{options.fast_memory}}};
}

}  // namespace

void close_staging::operator()(staging* s) const noexcept { delete s; }

staging_owner open_staging(graph_core& core, const std::string& file, element_count elements,
                           const staging_options& options) {
  staging_plan plan = make_plan(file, elements, options);
  auto store = make_named_file_store(file, plan.bytes, options.cache);
  return open_planned(core, std::move(plan), std::move(store), options);
}
staging_owner open_staging(graph_core& core, std::shared_ptr<backing_store> store, element_count elements,
                           const staging_options& options) {
  if (store == nullptr) throw error{errc::bad_argument, "a staged array without a store: give one, or a file's name"};
  staging_plan plan = make_plan(store->description(), elements, options);
  return open_planned(core, std::move(plan), std::move(store), options);
}
std::byte* base_of(const staging& s) noexcept { return s.base(); }
void copy_out(staging& s, std::size_t from, void* to, std::size_t bytes) { s.copy(from, to, nullptr, bytes); }
void copy_in(staging& s, std::size_t to, const void* from, std::size_t bytes) { s.copy(to, nullptr, from, bytes); }
void flush_staging(staging& s) { s.flush(); }
staging_statistics statistics_of(const staging& s) { return s.statistics(); }

// Writes the message for an access to a tile that no unit under way has declared.
bool staging::explain(std::uintptr_t address, bool is_write, fault_text& to) const noexcept {
  const std::uint64_t offset = address - reinterpret_cast<std::uintptr_t>(base());
  if (offset >= bytes()) return false;
  if (checked_unit == nullptr)
    to << "a thread that runs no unit";
  else
    write_unit(*checked_unit, to);
  to << (is_write ? " writes " : " reads ") << name() << "[" << offset / element_bytes() << "], ";
  if (checked_unit == nullptr) {
    to << "of a staged array: its read() and write() are for that";
    return true;
  }
  to << "which it has not declared: ";
  write_remedy(is_write, to);
  to << ".\n  Page protection sees loads and stores by any code, but whole tiles alone: none to a tile that any unit "
        "under "
        "way has declared";
  return true;
}

// --- regions --------------------------------------------------------------------------------------------------------

void staging::collect(const declared_access& access, std::vector<staged_tile>& tiles) {
  const auto base = reinterpret_cast<std::uint64_t>(room_.base());
  for (std::size_t row = 0; row < access.region.rows && access.region.bytes != 0; ++row) {
    const std::uint64_t begin = reinterpret_cast<std::uint64_t>(access.region.begin) + row * access.region.stride;
    const std::uint64_t end = begin + access.region.bytes;
    if (end <= base || base + room_.bytes() <= begin) continue;
    if (begin < base || base + plan_.bytes < end)
      throw error{errc::bad_argument,
                  fmt::format("a unit declares bytes {} to {} of {}, which has {}",
                              static_cast<std::int64_t>(begin - base), end - base, plan_.name, plan_.bytes)};
    for (std::uint64_t i = (begin - base) / plan_.tile_bytes; i <= (end - base - 1) / plan_.tile_bytes; ++i) {
      const auto index = static_cast<std::uint32_t>(i);
      const std::uint64_t first = base + i * plan_.tile_bytes;
      // The last page of the array may hold more bytes of the store, which are written back with it.
      const bool is_all = begin <= first && first + bytes_of(index) <= end && bytes_of(index) % page_bytes == 0;
      const staged_tile one{this, index, access.mode != access_mode::read,
                            access.mode != access_mode::write || !is_all};
      const auto known = std::find_if(tiles.begin(), tiles.end(),
                                      [&](const staged_tile& each) { return each.of == this && each.tile == index; });
      if (known == tiles.end()) {
        tiles.push_back(one);
      } else {
        known->is_written |= one.is_written;
        known->is_needed |= one.is_needed;
      }
    }
  }
}

void staging::check(const std::vector<staged_tile>& tiles) const {
  const auto count = static_cast<std::size_t>(
      std::count_if(tiles.begin(), tiles.end(), [this](const staged_tile& each) { return each.of == this; }));
  if (count > plan_.budget_tiles)
    throw error{
        errc::bad_argument,
        fmt::format("a unit declares {} tiles of {}, whose budget holds {} of {} bytes: give a larger budget, or "
                    "declare less in a unit",
                    count, plan_.name, plan_.budget_tiles, plan_.tile_bytes)};
}

}  // namespace situ::detail
