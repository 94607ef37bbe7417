#include "machine/toml_pim.h"

#include <situ/base/error.h>
#include <situ/base/units.h>

#include <fmt/format.h>

#include "machine/pim_keys.h"
#include "machine/toml_fields.h"

#include <cstdint>

namespace situ::machine {
namespace {

constexpr pim_design designs[] = {pim_design::imi, pim_design::bitsimd, pim_design::ambit, pim_design::simdram};

pim_figures read_figures(const spec_table& table) {
  table.allow_only({"design",    "banks",       "subarrays",    "rows",     "columns",  "concurrent_subarrays",
                    "row_read",  "row_write",   "latch",        "shift",    "AP",       "AAP",
                    "row_count", "row_read_nJ", "row_write_nJ", "latch_nJ", "shift_nJ", "AP_nJ",
                    "AAP_nJ",    "extra_row_nJ"});
  pim_figures made;
  made.design = parse_kind(table, "design", table.has("design") ? "" : table.text("design"), designs);
  for (const auto& [key, value] : pim_counts) made.*value = small(table, key);
  for (const auto& [key, value] : pim_times) made.*value = table.nanoseconds(key, 0);
  for (const auto& [key, value] : pim_energies) made.*value = table.number(key, 0);
  return made;
}

}  // namespace

void read_computes(const spec_table& table, node_facts& facts) {
  if (!table.has("computes")) return;
  if (facts.kind != node_kind::memory || facts.memory != memory_technology::pim)
    table.fail("computes",
               "belongs to a memory that computes; write kind = \"memory\" and memory = \"pim\", or remove it");
  const spec_table own = table.table("computes");
  facts.computes = read_figures(own);
  try {
    check(facts.computes);
  } catch (const error& bad) {
    own.fail("", bad.message());
  }
  const std::uint64_t cells = facts.computes.bytes();
  if (facts.bytes != 0 && facts.bytes != cells)
    table.fail("size",
               fmt::format("the cells (banks x subarrays x rows x columns / 8) are {}; write that, or remove the size",
                           exact_bytes(cells)));
  facts.bytes = cells;
}

}  // namespace situ::machine
