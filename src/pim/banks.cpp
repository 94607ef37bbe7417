#include "pim/banks.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/mapping_error.h"

namespace situ::pim::detail {
namespace {

// A first touch of a page costs a microsecond, ten times an allocation. A device of more than 2^24 granules, 128 GiB of
// rows of 8 KiB, has its further pages touched by its allocations.
constexpr std::size_t touched_bytes = std::size_t{64} << 20;

os::mapping map_table(const geometry& shape) {
  const std::size_t bytes = shape.granules() * sizeof(std::uint32_t);
  os::mapping made = os::mapping::anywhere(bytes, PROT_READ | PROT_WRITE, os::backing::zeros());
  if (!made)
    throw_error(errc::out_of_memory, fmt::format("bmem: a table of {} bytes, 4 for each row of each subarray: {}",
                                                 bytes, situ::detail::why_not_mapped(errno)));
  std::memset(made.begin(), 0, std::min(bytes, touched_bytes));
  return made;
}

}  // namespace

banks::banks(const geometry& shape, bool is_across_banks)
    : map_{shape, is_across_banks},
      is_across_banks_{is_across_banks},
      locks_{std::make_unique<padded_lock[]>(shape.banks)},
      table_pages_{map_table(shape)},
      table_{reinterpret_cast<std::uint32_t*>(table_pages_.begin())} {}

granule banks::enter(row_map::place taken, extent of) const noexcept {
  if (taken.is_none()) return no_granule;
  const granule at = taken.subarray * shape().rows + taken.row;
  table_.set_live(at, of);
  return at;
}

granule banks::allocate(extent wanted, std::uint32_t home) {
  const std::uint32_t subarrays = subarrays_of(wanted);
  const std::uint32_t rows = rows_of(wanted);
  const std::uint32_t count = shape().banks;
  if (subarrays <= shape().subarrays) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t bank = home + i < count ? home + i : home + i - count;
      if (map_.free_of(bank) < subarrays * rows) continue;
      const locked held{*this, bank, bank};
      const row_map::place taken = map_.take_in(bank, subarrays, rows);
      if (!taken.is_none()) return enter(taken, wanted);
    }
  }
  if (!is_across_banks_ || subarrays == 1) return no_granule;
  const locked held{*this, 0, count - 1};
  return enter(map_.take_in(map_.all_banks(), subarrays, rows), wanted);
}

granule banks::allocate_in(extent wanted, std::uint32_t bank) {
  const locked held{*this, bank, bank};
  return enter(map_.take_in(bank, subarrays_of(wanted), rows_of(wanted)), wanted);
}

granule banks::allocate_surely(extent wanted, std::uint32_t home) {
  const std::uint32_t count = shape().banks;
  const locked held{*this, 0, count - 1};
  for (std::uint32_t i = 0; i < count; ++i) {
    const row_map::place taken = map_.take_in((home + i) % count, subarrays_of(wanted), rows_of(wanted));
    if (!taken.is_none()) return enter(taken, wanted);
  }
  if (!is_across_banks_) return no_granule;
  return enter(map_.take_in(map_.all_banks(), subarrays_of(wanted), rows_of(wanted)), wanted);
}

granule banks::allocate_beside(const block& other, std::uint32_t rows) {
  const locked held{*this, bank_of(other.subarray), bank_of(other.subarray + other.subarrays - 1)};
  return enter(map_.take_beside(other.subarray, other.subarrays, rows), extent_of(other.subarrays, rows));
}

void banks::release(granule at) {
  const block of = block_at(at, table_.word(at));
  table_.set_none(at);
  const locked held{*this, bank_of(of.subarray), bank_of(of.subarray + of.subarrays - 1)};
  map_.release(of);
}

std::uint64_t banks::free_granules() const noexcept {
  std::uint64_t free = 0;
  for (std::uint32_t b = 0; b < shape().banks; ++b) free += map_.free_of(b);
  return free;
}

}  // namespace situ::pim::detail
