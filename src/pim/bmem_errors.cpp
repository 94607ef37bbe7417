// The refusals of a bmem: each names the block, its subarray and row, and what to do.
#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "pim/bmem_core.h"
#include "pim/free_map.h"

namespace situ::pim {
namespace {

using detail::granule;
using detail::row_map;

// "1 row", "3 rows".
std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string extent_text(std::uint64_t subarrays, std::uint64_t rows) {
  return counted(subarrays, "subarray") + " x " + counted(rows, "row");
}

std::string place_text(const geometry& shape, std::uint32_t subarray, std::uint32_t row) {
  return fmt::format("subarray {} (bank {}), row {}", subarray, subarray / shape.subarrays, row);
}

std::string block_text(const geometry& shape, const block& of) {
  return fmt::format("the block of {} at {}", extent_text(of.subarrays, of.rows),
                     place_text(shape, of.subarray, of.row));
}

// Returns the block, live or kept by a thread, that has this granule. cost: a look at each granule up to it.
std::optional<granule> block_around(const detail::banks& rows, std::uint32_t subarray, std::uint32_t row) {
  for (std::uint32_t s = subarray + 1; s-- > 0;)
    for (std::uint32_t r = row + 1; r-- > 0;) {
      const granule at = s * rows.shape().rows + r;
      const std::uint32_t word = rows.table().word(at);
      if (word != 0 && s + detail::subarrays_of(word) > subarray && r + detail::rows_of(word) > row) return at;
    }
  return std::nullopt;
}

}  // namespace

void bmem::core::refuse_address(const void* at) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(handles.begin());
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(at) - begin;
  if (offset >= shape().bytes())
    throw_error(
        errc::bad_address,
        fmt::format("bmem: {} is no handle of this device, whose handles lie from {} to {}: pass it to the device "
                    "that allocated it",
                    at, static_cast<const void*>(handles.begin()),
                    reinterpret_cast<const void*>(begin + shape().bytes())));
  const auto in = static_cast<granule>(offset / row_bytes);
  const block here{in / shape().rows, in % shape().rows, 1, 1};
  const auto refuse_free = [](const std::string& what) {
    throw_error(errc::bad_address, fmt::format("bmem: {} is free: it was freed before, or never allocated; forget a "
                                               "handle when its block is freed",
                                               what));
  };
  const std::optional<granule> around = block_around(rows, here.subarray, here.row);
  if (!around) refuse_free(place_text(shape(), here.subarray, here.row));
  const std::uint32_t word = rows.table().word(*around);
  const std::string text = block_text(shape(), rows.block_at(*around, word));
  if ((word & detail::live_bit) == 0) refuse_free(text);
  throw_error(errc::bad_address,
              fmt::format("bmem: {} (byte {} of {}) lies within {}: pass the handle of its begin, {}", at,
                          offset % row_bytes, place_text(shape(), here.subarray, here.row), text, handle(*around)));
}

void bmem::core::refuse_extent(std::uint64_t subarrays, std::uint64_t rows_wanted) const {
  std::string what_to_do;
  if (subarrays == 0 || rows_wanted == 0)
    what_to_do = "a block has at least 1 subarray and 1 row";
  else if (rows_wanted > shape().rows)
    what_to_do = fmt::format("a subarray has {}: allocate several blocks", counted(shape().rows, "row"));
  else if (subarrays <= shape().all_subarrays())
    what_to_do =
        fmt::format("a bank has {}: allocate several blocks, or set across_banks", counted(widest(), "subarray"));
  else
    what_to_do =
        fmt::format("the device has {}: allocate several blocks", counted(shape().all_subarrays(), "subarray"));
  throw_error(errc::bad_argument, fmt::format("bmem: {}: {}", extent_text(subarrays, rows_wanted), what_to_do));
}

void bmem::core::refuse_bytes(std::size_t bytes, dimension along) const {
  if (bytes == 0) throw_error(errc::bad_argument, "bmem: 0 bytes: a block has at least 1");
  if (along == dimension::vertical)
    throw_error(
        errc::bad_argument,
        fmt::format("bmem: {} bytes down a column, a row for each bit, and a subarray has {}: allocate several blocks",
                    bytes, counted(shape().rows, "row")));
  throw_error(errc::bad_argument,
              fmt::format("bmem: {} bytes, and {} of {} rows of {} bytes have {}: allocate several blocks{}", bytes,
                          counted(widest(), "subarray"), shape().rows, row_bytes, widest() * shape().rows * row_bytes,
                          how.across_banks || shape().banks == 1 ? "" : ", or set across_banks"));
}

namespace {

std::string room_text(const row_map& map, bool is_across_banks, std::uint64_t free) {
  const geometry& shape = map.shape();
  const block most = detail::largest_free(map, is_across_banks);
  const std::string largest =
      most.rows == 0 ? "nothing is free"
                     : fmt::format("the largest free rectangle is {} at {}, and {} of {} granules are free",
                                   extent_text(most.subarrays, most.rows), place_text(shape, most.subarray, most.row),
                                   free, shape.granules());
  return largest + ". Free blocks, or allocate smaller ones.\n" + detail::draw(map);
}

}  // namespace

void bmem::core::refuse_room(detail::extent wanted) const {
  const std::string room = threads->with_all_blocks([&] {
    return rows.read_map([&](const row_map& map) { return room_text(map, how.across_banks, rows.free_granules()); });
  });
  throw_error(errc::out_of_memory,
              fmt::format("bmem: no room for {}: {}",
                          extent_text(detail::subarrays_of(wanted), detail::rows_of(wanted)), room));
}

void bmem::core::refuse_beside(const block& other, std::uint32_t more_rows) const {
  const std::string room = threads->with_all_blocks([&] {
    return rows.read_map([&](const row_map& map) { return room_text(map, how.across_banks, rows.free_granules()); });
  });
  throw_error(errc::out_of_memory, fmt::format("bmem: no room for {} beside {}: {}", counted(more_rows, "row"),
                                               block_text(shape(), other), room));
}

}  // namespace situ::pim
