#include "pages/placed_table.h"

#include <algorithm>
#include <cstddef>

namespace situ::detail {
namespace {

template <std::size_t Size>
void set_name(char (&to)[Size], std::string_view name) noexcept {
  std::copy_n(name.begin(), std::min(name.size(), Size - 1), to);
}

}  // namespace

placed_row* placed_table::find_or_add(std::string_view intent, std::string_view memory) noexcept {
  const std::uint32_t used = count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < used; ++i)
    if (intent == rows[i].intent && memory.substr(0, sizeof rows[i].memory - 1) == rows[i].memory) return &rows[i];
  if (used == most_rows) {
    is_full.store(1, std::memory_order_relaxed);
    return nullptr;
  }
  set_name(rows[used].intent, intent);
  set_name(rows[used].memory, memory);
  count.store(used + 1, std::memory_order_release);
  return &rows[used];
}

}  // namespace situ::detail
