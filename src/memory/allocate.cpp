#include <situ/memory/allocate.h>

#include <situ/base/detail/coherence.h>
#include <situ/base/detail/signal_word.h>
#include <situ/base/error_code.h>

#include "memory/segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>

namespace situ {
namespace detail {
namespace {

place_context& running_context() {
  if (current->segment == nullptr) [[unlikely]]
    throw_no_runtime("memory of a segment is allocated");
  return *current;
}

[[noreturn, gnu::cold, gnu::noinline]] void throw_out_of_memory(std::size_t bytes, std::size_t alignment) {
  const place_context& context = *current;
  const memory_usage usage = context.segment->statistics();
  const bool budget_is_short = context.job->memory_budget != 0 && context.job->memory_budget < usage.capacity_bytes;
  throw_error(
      errc::out_of_memory,
      fmt::format(
          "place {} cannot allocate {} bytes aligned to {}: about {} bytes are left to it ({} live in {} "
          "blocks here; the job uses "
          "{} of its budget of {}). Free memory, allocate at a place with room, or {}",
          context.place, bytes, alignment, context.segment->room_bytes(), usage.live_bytes, usage.live_blocks,
          context.job->opened_bytes.load(std::memory_order_relaxed), context.job->memory_budget,
          budget_is_short
              ? "start the job with a larger memory budget (situ run --memory)"
              : "use more places: this is one place's share of the address space (ulimit -f makes it smaller)"));
}

[[noreturn, gnu::cold, gnu::noinline]] void throw_bad_deallocation(std::uintptr_t address, free_status status) {
  const place_context& context = *current;
  const std::uintptr_t place = (address - context.base) >> context.slice_shift;
  if (place >= context.place_count) throw_foreign_address(address);
  const auto found = segment::find_block(context, address);
  if (status == free_status::already_free && found)
    throw_error(
        errc::bad_address,
        fmt::format(
            "deallocate({:#x}) at place {}: this block of {} bytes at place {} is already free; deallocate it once",
            address, context.place, found->size, place));
  if (found && found->live)
    throw_error(
        errc::bad_address,
        fmt::format(
            "deallocate({:#x}) at place {}: the address lies {} bytes into a live block of {} bytes at place {}; pass "
            "what situ::allocate returned, {:#x}",
            address, context.place, address - found->start, found->size, place, found->start));
  throw_error(errc::bad_address, fmt::format("deallocate({:#x}) at place {}: no live block of place {} starts there; "
                                             "it was freed before, or never allocated",
                                             address, context.place, place));
}

// Gives each block its own cache lines if places are not coherent: rule 2 of coherence.h.
inline void keep_apart([[maybe_unused]] std::size_t& bytes, [[maybe_unused]] std::size_t& alignment) noexcept {
  if constexpr (!has_coherent_places) {
    if (!std::has_single_bit(alignment) || bytes > SIZE_MAX - signal_line_bytes) return;  // refused below
    alignment = std::max(alignment, signal_line_bytes);
    bytes = (bytes + signal_line_bytes - 1) & ~(signal_line_bytes - 1);
  }
}

// Throws the error for an arena that could not allocate `bytes`.
[[noreturn, gnu::cold, gnu::noinline]] void throw_no_room(unsigned arena, std::size_t bytes, std::size_t alignment) {
  const place_context& context = *current;
  if (arena == heap::plain || !context.segment->placed()->refusal()) throw_out_of_memory(bytes, alignment);
  const intent_arenas& placed = *context.segment->placed();
  const intent& what = placed.what(arena);
  const machine::memory_order& order = placed.order(arena);
  throw_error(
      errc::out_of_memory,
      fmt::format("place {} cannot allocate {} bytes for the intent {}: no memory of its ordering has room ({}, "
                  "by {}). Free memory, order more memories for it, or let the last one take what is left "
                  "(situ order set {} ... --no-room last)\n{}",
                  context.place, bytes, what.name(), to_text(order), order.source, what.name(),
                  format_fills(*placed.refusal())));
}

[[gnu::noinline]] void* allocate_carefully(std::size_t bytes, std::size_t alignment, bool huge_pages) {
  const place_context& context = running_context();
  if (!std::has_single_bit(alignment))
    throw_error(errc::bad_argument, fmt::format("an alignment of {} is no power of two", alignment));
  void* const block =
      huge_pages ? context.segment->allocate_huge(bytes, alignment) : context.segment->allocate(bytes, alignment);
  if (block == nullptr) throw_no_room(context.segment->arena_for_all(), bytes, alignment);
  return block;
}

[[gnu::noinline]] void* allocate_carefully_for(const intent& what, std::uint64_t key, std::size_t bytes,
                                               std::size_t alignment) {
  segment& own = *running_context().segment;
  if (!std::has_single_bit(alignment))
    throw_error(errc::bad_argument, fmt::format("an alignment of {} is no power of two", alignment));
  const unsigned arena = own.arena_for(what, key == arena_key(what, true));
  void* const block = own.allocate_in(arena, bytes, alignment);
  if (block == nullptr) throw_no_room(arena, bytes, alignment);
  return block;
}

// Returns true if the block belongs to another place and the fabric has sent it there.
bool is_taken_home(std::uintptr_t block) {
  place_context& context = *current;
  const std::uintptr_t place = (block - context.base) >> context.slice_shift;
  return context.give_back_elsewhere != nullptr && place < context.place_count &&
         context.give_back_elsewhere(context, block);
}

[[gnu::noinline]] void deallocate_carefully(void* block) {
  if (block == nullptr) return;
  const place_context& context = *current;
  if (context.place_count == 0) throw_no_runtime("memory of a segment is given back");
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const bool own = context.segment != nullptr && (address - context.base) >> context.slice_shift == context.place;
  if (!own && is_taken_home(address)) return;
  const free_status status = own ? context.segment->deallocate(block) : segment::deallocate_remote(context, address);
  if (status != free_status::done) throw_bad_deallocation(address, status);
}

}  // namespace

void* allocate_bytes(std::size_t bytes, std::size_t alignment, bool huge_pages) {
  keep_apart(bytes, alignment);
  segment* const own = current->segment;
  if (own != nullptr && !huge_pages && (alignment & (alignment - 1)) == 0) [[likely]] {
    void* const block = own->allocate_quickly(bytes, alignment);
    if (block != nullptr) [[likely]]
      return block;
  }
  return allocate_carefully(bytes, alignment, huge_pages);
}

void* allocate_bytes_for(const intent& what, std::uint64_t key, std::size_t bytes, std::size_t alignment) {
  keep_apart(bytes, alignment);
  segment* const own = current->segment;
  if (own != nullptr && (alignment & (alignment - 1)) == 0) [[likely]] {
    if (void* const block = own->allocate_quickly_for(key, bytes, alignment)) [[likely]]
      return block;
  }
  return allocate_carefully_for(what, key, bytes, alignment);
}

void deallocate_bytes(void* block) {
  segment* const own = current->segment;
  if (own == nullptr || !own->deallocate_quickly(block)) [[unlikely]]
    deallocate_carefully(block);
}

void throw_too_many(std::size_t count, std::size_t size) {
  throw_error(
      errc::out_of_memory,
      fmt::format("place {} cannot allocate {} objects of {} bytes: their bytes exceed every address space; pass fewer",
                  current->place, count, size));
}

}  // namespace detail

memory_usage memory_statistics() { return detail::running_context().segment->statistics(); }

}  // namespace situ
