#include <situ/pim/bmem.h>

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <cerrno>
#include <new>

#include "os/host.h"
#include "os/mapping_error.h"
#include "pim/bmem_core.h"
#include "pim/free_map.h"

namespace situ::pim {
namespace {

const geometry& checked(const geometry& shape) {
  check(shape);
  return shape;
}

os::mapping reserve_handles(std::uint64_t bytes) {
  constexpr std::uint64_t page = situ::detail::page_bytes;
  os::mapping made = os::mapping::reserve((bytes + page - 1) / page * page);
  if (!made)
    throw_error(errc::out_of_memory,
                fmt::format("bmem: {} bytes of addresses for handles, as many as the device has: {}", bytes,
                            situ::detail::why_not_mapped(errno)));
  return made;
}

// Returns the inverse of an odd number modulo 2^64: Newton's steps double the right bits, of which there are 3 at
// first.
constexpr std::uint64_t inverse(std::uint64_t odd) noexcept {
  std::uint64_t found = odd;
  for (int bits = 3; bits < 64; bits *= 2) found *= 2 - odd * found;
  return found;
}
static_assert(inverse(3) * 3 == 1 && inverse(~std::uint64_t{0}) == ~std::uint64_t{0});

}  // namespace

bmem::core::core(const geometry& shape, bmem_options options)
    : row_bytes{checked(shape).row_bytes()},
      inverse_of_odd{inverse(row_bytes >> std::countr_zero(row_bytes))},
      granules{shape.granules()},
      row_shift{std::countr_zero(row_bytes)},
      how{options},
      handles{reserve_handles(shape.bytes())},
      rows{shape, options.across_banks},
      keeps_blocks{options.thread_caches && situ::detail::can_order_all_threads()},
      threads{std::make_shared<detail::thread_registry>(rows, keeps_blocks)} {
  if (keeps_blocks) id = threads->id();
}

bmem::bmem(const geometry& shape, bmem_options how) : core_{std::make_unique<core>(shape, how)} {}
bmem::~bmem() = default;

const geometry& bmem::shape() const noexcept { return core_->shape(); }
const bmem_options& bmem::options() const noexcept { return core_->how; }

// --- extents ---

detail::extent bmem::core::long_extent_of(std::size_t bytes, dimension along) const {
  if (along == dimension::vertical) {
    if (bytes - 1 >= shape().rows / 8) refuse_bytes(bytes, along);
    return detail::extent_of(1, static_cast<std::uint32_t>(bytes * 8));
  }
  if (bytes - 1 >= shape().bytes()) refuse_bytes(bytes, along);
  const bool is_power_of_two = inverse_of_odd == 1;
  const std::uint64_t rows_before = is_power_of_two ? (bytes - 1) >> row_shift : (bytes - 1) / row_bytes;
  const auto wanted = static_cast<std::uint32_t>(rows_before + 1);
  const std::uint32_t wide = widest();
  if (wanted <= wide) return detail::extent_of(wanted, 1);
  const std::uint32_t rows_wanted = (wanted - 1) / wide + 1;
  if (rows_wanted > shape().rows) refuse_bytes(bytes, along);
  return detail::extent_of(wide, rows_wanted);
}

block bmem::extent_of(std::size_t bytes, dimension along) const {
  const detail::extent of = core_->extent_of(bytes, along);
  return {0, 0, detail::subarrays_of(of), detail::rows_of(of)};
}

// --- allocation ---
// The hot paths end in calls of the slow ones, so that they save no registers.

void* bmem::core::take_slowly(detail::extent wanted) {
  detail::thread_blocks* const own = threads->own();
  const std::uint32_t home = own != nullptr ? own->home() : 0;
  detail::granule at = detail::no_granule;
  if (keeps_blocks && own != nullptr) {
    at = own->take(wanted);  // if the hot path did not know these
    if (at == detail::no_granule) at = own->take_several(wanted);
  }
  if (at == detail::no_granule) at = rows.allocate(wanted, home);
  if (at == detail::no_granule) at = threads->with_all_blocks([&] { return rows.allocate_surely(wanted, home); });
  if (at != detail::no_granule) return handle(at);
  refused.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void* bmem::core::take_or_refuse(detail::extent wanted) {
  void* const at = take_slowly(wanted);
  if (at == nullptr) refuse_room(wanted);
  return at;
}

void* bmem::core::take_beside(const block& other, std::uint32_t more_rows) {
  detail::granule at = rows.allocate_beside(other, more_rows);
  if (at == detail::no_granule) at = threads->with_all_blocks([&] { return rows.allocate_beside(other, more_rows); });
  if (at != detail::no_granule) return handle(at);
  refused.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void* bmem::try_allocate(std::size_t bytes, dimension along) {
  const detail::extent wanted = core_->extent_of(bytes, along);
  if (void* const kept = core_->take_kept(wanted)) [[likely]]
    return kept;
  return core_->take_slowly(wanted);
}

void* bmem::allocate(std::size_t bytes, dimension along) {
  const detail::extent wanted = core_->extent_of(bytes, along);
  if (void* const kept = core_->take_kept(wanted)) [[likely]]
    return kept;
  return core_->take_or_refuse(wanted);
}

void* bmem::try_allocate_block(std::uint32_t subarrays, std::uint32_t rows) {
  const detail::extent wanted = core_->checked_extent(subarrays, rows);
  if (void* const kept = core_->take_kept(wanted)) [[likely]]
    return kept;
  return core_->take_slowly(wanted);
}

void* bmem::allocate_block(std::uint32_t subarrays, std::uint32_t rows) {
  const detail::extent wanted = core_->checked_extent(subarrays, rows);
  if (void* const kept = core_->take_kept(wanted)) [[likely]]
    return kept;
  return core_->take_or_refuse(wanted);
}

void* bmem::try_allocate_block_in(std::uint32_t bank, std::uint32_t subarrays, std::uint32_t rows) {
  if (bank >= shape().banks)
    throw_error(errc::bad_argument, fmt::format("bmem: bank {} of a device that has {}", bank, shape().banks));
  const detail::granule at = core_->rows.allocate_in(core_->checked_extent(subarrays, rows), bank);
  return at == detail::no_granule ? nullptr : core_->handle(at);
}

void* bmem::try_allocate_beside(const void* other, std::uint32_t rows) {
  const block of = find(other);
  (void)core_->checked_extent(of.subarrays, rows);
  return core_->take_beside(of, rows);
}

void* bmem::allocate_beside(const void* other, std::uint32_t rows) {
  void* const at = try_allocate_beside(other, rows);
  if (at == nullptr) core_->refuse_beside(find(other), rows);
  return at;
}

void bmem::core::free_slowly(void* at) {
  if (at == nullptr) return;
  const std::uint64_t granule = granule_at(at);
  const std::uint32_t word = word_at(granule);
  if ((word & detail::live_bit) == 0) refuse_address(at);
  const auto freed = static_cast<detail::granule>(granule);
  if (keeps_blocks) {
    try {
      if (detail::thread_blocks* const own = threads->own())
        if (own->keep_slowly(freed, word & ~detail::live_bit)) return;
    } catch (const std::bad_alloc&) {
      // There is no room for what the thread would keep, and a free does not fail for want of memory.
    }
  }
  rows.release(freed);
}

void bmem::free(void* at) {
  const std::uint64_t granule = core_->granule_at(at);
  const std::uint32_t word = core_->word_at(granule);
  detail::thread_blocks* const own = detail::recent_blocks(core_->id);
  if ((word & detail::live_bit) != 0 && own != nullptr) [[likely]]
    if (own->keep(static_cast<detail::granule>(granule), word & ~detail::live_bit)) [[likely]]
      return;
  core_->free_slowly(at);
}

// --- questions ---

block bmem::find(const void* at) const {
  const std::uint64_t granule = core_->granule_at(at);
  const std::uint32_t word = core_->word_at(granule);
  if ((word & detail::live_bit) == 0) core_->refuse_address(at);
  return core_->rows.block_at(static_cast<detail::granule>(granule), word);
}

bmem_usage bmem::usage() const {
  return core_->threads->with_all_blocks([&] {
    const std::uint64_t free =
        core_->rows.read_map([&](const detail::row_map&) { return core_->rows.free_granules(); });
    return bmem_usage{free, shape().granules() - free, core_->refused.load(std::memory_order_relaxed)};
  });
}

block bmem::largest_free() const {
  return core_->threads->with_all_blocks([&] {
    return core_->rows.read_map(
        [&](const detail::row_map& map) { return detail::largest_free(map, core_->how.across_banks); });
  });
}

std::string bmem::draw() const {
  return core_->threads->with_all_blocks(
      [&] { return core_->rows.read_map([](const detail::row_map& map) { return detail::draw(map); }); });
}

}  // namespace situ::pim
