#include <situ/pim/bmem.h>

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <cerrno>

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

}  // namespace

bmem::core::core(const geometry& shape, bmem_options options)
    : how{options},
      is_row_power_of_two{std::has_single_bit(checked(shape).row_bytes())},
      row_shift{static_cast<std::uint32_t>(std::countr_zero(shape.row_bytes()))},
      row_bytes{shape.row_bytes()},
      handle_bytes{shape.bytes()},
      handles{reserve_handles(shape.bytes())},
      rows{shape, options.across_banks},
      threads{std::make_shared<detail::thread_registry>(rows)} {}

bmem::bmem(const geometry& shape, bmem_options how) : core_{std::make_unique<core>(shape, how)} {}
bmem::~bmem() = default;

const geometry& bmem::shape() const noexcept { return core_->shape(); }
const bmem_options& bmem::options() const noexcept { return core_->how; }

// --- extents ---

detail::extent bmem::core::extent_of(std::size_t bytes, dimension along) const {
  if (along == dimension::vertical) {
    if (bytes - 1 >= shape().rows / 8) [[unlikely]]
      refuse_bytes(bytes, along);
    return detail::extent_of(1, static_cast<std::uint32_t>(bytes * 8));
  }
  if (bytes - 1 >= handle_bytes) [[unlikely]]
    refuse_bytes(bytes, along);
  const std::uint64_t granules = is_row_power_of_two ? ((bytes - 1) >> row_shift) + 1 : (bytes - 1) / row_bytes + 1;
  const std::uint32_t widest = how.across_banks ? shape().all_subarrays() : shape().subarrays;
  if (granules <= widest) return detail::extent_of(static_cast<std::uint32_t>(granules), 1);
  const std::uint64_t rows_wanted = (granules + widest - 1) / widest;
  if (rows_wanted > shape().rows) refuse_bytes(bytes, along);
  return detail::extent_of(widest, static_cast<std::uint32_t>(rows_wanted));
}

block bmem::extent_of(std::size_t bytes, dimension along) const {
  const detail::extent of = core_->extent_of(bytes, along);
  return {0, 0, detail::subarrays_of(of), detail::rows_of(of)};
}

// --- allocation ---

void* bmem::core::take(detail::extent wanted) {
  if (how.thread_caches) [[likely]] {
    if (detail::thread_blocks* const own = threads->own()) [[likely]] {
      const detail::granule kept = own->take(wanted);
      if (kept != detail::no_granule) [[likely]]
        return handle(kept);
    }
  }
  return search(wanted);
}

void* bmem::core::search(detail::extent wanted) {
  const std::uint32_t home = detail::thread_number() % shape().banks;
  detail::granule at = rows.allocate(wanted, home);
  if (at == detail::no_granule) at = threads->with_all_blocks([&] { return rows.allocate_surely(wanted, home); });
  if (at != detail::no_granule) return handle(at);
  refused.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void* bmem::core::take_beside(const block& other, std::uint32_t more_rows) {
  detail::granule at = rows.allocate_beside(other, more_rows);
  if (at == detail::no_granule) at = threads->with_all_blocks([&] { return rows.allocate_beside(other, more_rows); });
  if (at != detail::no_granule) return handle(at);
  refused.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

void* bmem::try_allocate(std::size_t bytes, dimension along) { return core_->take(core_->extent_of(bytes, along)); }

void* bmem::allocate(std::size_t bytes, dimension along) {
  const detail::extent wanted = core_->extent_of(bytes, along);
  void* const at = core_->take(wanted);
  if (at == nullptr) [[unlikely]]
    core_->refuse_room(wanted);
  return at;
}

void* bmem::try_allocate_block(std::uint32_t subarrays, std::uint32_t rows) {
  return core_->take(core_->checked_extent(subarrays, rows));
}

void* bmem::allocate_block(std::uint32_t subarrays, std::uint32_t rows) {
  const detail::extent wanted = core_->checked_extent(subarrays, rows);
  void* const at = core_->take(wanted);
  if (at == nullptr) [[unlikely]]
    core_->refuse_room(wanted);
  return at;
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

void bmem::free(void* at) {
  if (at == nullptr) return;
  detail::granule of{};
  const detail::extent freed = core_->live_word(at, of) & ~detail::live_bit;
  if (core_->how.thread_caches) [[likely]] {
    detail::thread_blocks* const own = core_->threads->own();
    if (own != nullptr && own->keep(of, freed)) [[likely]]
      return;
  }
  core_->rows.release(of);
}

// --- questions ---

block bmem::find(const void* at) const {
  detail::granule of{};
  const std::uint32_t word = core_->live_word(at, of);
  return core_->rows.block_at(of, word);
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
