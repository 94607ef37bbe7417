#include "memory/segment.h"

#include <situ/base/detail/test_points.h>
#include <situ/base/error_code.h>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace situ::detail {
namespace {

constexpr std::uint64_t extent_step = 1u << 20;  // extents grow by this, or by an eighth
// bytes taken from the budget at once, since all places share its counter
constexpr std::uint64_t charge_step = 1u << 20;
constexpr std::uint64_t charge_slack = 4u << 20;  // unused charge that is kept; more is returned

constexpr std::uint64_t most_kept_bytes = 96u << 20;  // limit on the free memory that a place keeps
constexpr std::uint64_t kept_part_of_budget = 8;      // all places together keep at most this part of the budget

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) noexcept {
  return (value + step - 1) / step * step;
}

std::uint64_t capacity_of(const job_control& control, std::uint64_t heap_offset) noexcept {
  const std::uint64_t slice = std::uint64_t{1} << control.slice_shift;
  return heap_offset >= slice ? 0 : (slice - heap_offset) & ~(chunk_bytes - 1);
}

// Returns the free memory to keep. Memory that one place keeps is not available to others: with a small budget, little
// is kept.
std::uint64_t kept_bytes(const job_control& control) noexcept {
  if (control.memory_budget == 0) return most_kept_bytes;
  return std::min(most_kept_bytes, control.memory_budget / kept_part_of_budget / control.places_here);
}

// Returns whether the kernel gives huge pages to memory files; "never" and "deny" mean that it does not.
bool read_huge_pages_available() {
  std::ifstream setting{"/sys/kernel/mm/transparent_hugepage/shmem_enabled"};
  const std::string text{std::istreambuf_iterator<char>{setting}, {}};
  return !text.empty() && text.find("[never]") == std::string::npos && text.find("[deny]") == std::string::npos;
}

heap_map map_of(const place_context& context, std::uintptr_t place) noexcept {
  return heap_map::at(context.base + (place << context.slice_shift) + context.heap_offset, context.slice_shift);
}

std::uint32_t open_chunks_of(const place_context& context, std::uintptr_t place) noexcept {
  // acquire: pairs with open(); the metadata of the open part is at least as new as the extent.
  return static_cast<std::uint32_t>(
      context.job->slot(static_cast<std::uint32_t>(place)).extent.load(std::memory_order_acquire) >> chunk_shift);
}

}  // namespace

segment::segment(job_control& control, std::uintptr_t slice_base, std::uint32_t place, std::size_t private_bytes)
    : control_{control},
      slot_{control.slot(place)},
      status_{control.status(place)},
      heap_address_{slice_base + heap_offset(control, private_bytes)},
      capacity_{capacity_of(control, heap_offset(control, private_bytes))},
      promises_{control, slice_base - (std::uintptr_t{place} << control.slice_shift), place,
                heap_offset(control, private_bytes)},
      heap_{*this, heap_map::at(heap_address_, control.slice_shift), kept_bytes(control)} {
  if (capacity_ < extent_step)
    throw_error(
        errc::bad_launch,
        fmt::format("a slice of {} bytes a place leaves no room for a heap beside {} bytes of channels and {} bytes of "
                    "metadata; start fewer places, or lift the limit on address space (ulimit -v) or on the size of "
                    "files (ulimit -f)",
                    std::uint64_t{1} << control.slice_shift, private_bytes,
                    heap_map::metadata_bytes(control.slice_shift) + segment_promises::metadata_bytes(control)));
  SITU_ASSERT(1, heap_address_ % chunk_bytes == 0, "map the address space at a multiple of 2 MiB");
}

segment::~segment() { ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void*>(heap_address_), extent_); }

std::uint64_t segment::heap_offset(const job_control& control, std::size_t private_bytes) {
  return round_up(
      private_bytes + segment_promises::metadata_bytes(control) + heap_map::metadata_bytes(control.slice_shift),
      detail::huge_page_bytes);
}

void segment::mirror_extent(std::uint64_t* limit) noexcept {
  mirrored_limit_ = limit;
  if (limit != nullptr) *limit = extent_;
}

void* segment::allocate_huge(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes > capacity_) return nullptr;
  const std::uint64_t rounded = round_up(std::max<std::uint64_t>(bytes, 1), detail::huge_page_bytes);
  void* const block =
      heap_.allocate_large(arena_for_all_, rounded, std::max<std::size_t>(alignment, detail::huge_page_bytes));
  if (block == nullptr) return nullptr;
  if (huge_page_bytes_ == 0) huge_pages_available_ = read_huge_pages_available();
  huge_page_bytes_ += rounded;
  if (arena_for_all_ != heap::plain) return block;  // its pages exist
  // Both calls are only hints: statistics tell whether the kernel grants them.
  if (huge_pages_available_) {
    madvise(block, rounded, MADV_HUGEPAGE);
  } else {
    front_of(static_cast<std::byte*>(block), rounded).prepare(rounded);
  }
  return block;
}

write_front segment::front_of(std::byte* memory, std::size_t bytes) noexcept {
  if (bytes < detail::huge_page_bytes || reinterpret_cast<std::uintptr_t>(memory) - heap_address_ >= extent_) return {};
  return {&huge_pages_, memory, bytes};
}

free_status segment::deallocate_remote(const place_context& context, std::uintptr_t block) noexcept {
  const std::uintptr_t place = (block - context.base) >> context.slice_shift;
  if (place >= context.place_count) return free_status::no_block;
  return map_of(context, place).free_remote(block, open_chunks_of(context, place));
}

std::optional<block> segment::find_block(const place_context& context, std::uintptr_t address) noexcept {
  const std::uintptr_t place = (address - context.base) >> context.slice_shift;
  if (place >= context.place_count) return std::nullopt;
  return map_of(context, place).find(address, open_chunks_of(context, place));
}

memory_usage segment::statistics() noexcept {
  drain();
  const heap::counters count = heap_.count();
  memory_usage usage;
  usage.live_bytes = count.live_bytes;
  usage.live_blocks = count.allocations - count.deallocations;
  usage.peak_bytes = count.peak_bytes;
  usage.allocations = count.allocations;
  usage.deallocations = count.deallocations;
  usage.remote_deallocations = count.remote_deallocations;
  usage.opened_bytes = extent_;
  usage.charged_bytes = charged_;
  usage.returned_bytes = returned_;
  usage.capacity_bytes = capacity_;
  usage.huge_page_bytes = huge_page_bytes_;
  usage.made_huge_bytes = huge_pages_.made_bytes();
  usage.huge_pages_available = huge_pages_available_ || huge_pages_.made_bytes() != 0;
  return usage;
}

std::uint64_t segment::room_bytes() const noexcept {
  const std::uint64_t slice_room = capacity_ - needed_;
  if (control_.memory_budget == 0) return slice_room;
  const std::uint64_t opened = control_.opened_bytes.load(std::memory_order_relaxed);
  const std::uint64_t budget_room = opened < control_.memory_budget ? control_.memory_budget - opened : 0;
  return std::min(slice_room, budget_room + (charged_ - needed_));
}

bool segment::is_valid() const noexcept {
  return heap_.is_valid() && extent_ == slot_.extent.load(std::memory_order_relaxed) &&
         extent_ == std::uint64_t{heap_.open_chunks()} * chunk_bytes && extent_ <= capacity_ && needed_ <= charged_ &&
         charged_ <= control_.opened_bytes.load(std::memory_order_relaxed) &&
         (mirrored_limit_ == nullptr || *mirrored_limit_ == extent_);
}

// --- for the heap ---

bool segment::open(std::uint64_t bytes) noexcept {
  if (bytes > capacity_) return false;
  const std::uint64_t step = std::max(extent_step, extent_ / 8);
  extent_ = std::min(round_up(std::max(bytes, extent_ + step), extent_step), capacity_);
  heap_.opened(static_cast<std::uint32_t>(extent_ >> chunk_shift));
  SITU_POINT(segment_extended);
  slot_.extent.store(extent_, std::memory_order_release);
  if (mirrored_limit_ != nullptr) *mirrored_limit_ = extent_;
  return true;
}

bool segment::charge(std::uint64_t bytes) noexcept {
  const std::uint64_t missing = needed_ + bytes <= charged_ ? 0 : needed_ + bytes - charged_;
  if (missing != 0) {
    const std::uint64_t limit = control_.memory_budget == 0 ? ~std::uint64_t{0} : control_.memory_budget;
    std::uint64_t opened = control_.opened_bytes.load(std::memory_order_relaxed);
    std::uint64_t taken = 0;
    do {
      const std::uint64_t room = opened < limit ? limit - opened : 0;
      if (missing > room) return false;
      taken = std::min(round_up(missing, charge_step), room);
      // relaxed: a count; it publishes nothing.
    } while (!control_.opened_bytes.compare_exchange_weak(opened, opened + taken, std::memory_order_relaxed));
    charged_ += taken;
  }
  needed_ += bytes;
  return true;
}

void segment::uncharge(std::uint64_t bytes) noexcept {
  needed_ -= bytes;
  if (charged_ - needed_ <= charge_slack) return;
  const std::uint64_t excess = charged_ - needed_ - charge_step;
  charged_ -= excess;
  control_.opened_bytes.fetch_sub(excess, std::memory_order_relaxed);
}

// A unit may be a huge page: for a part of one the kernel would keep the page and still report success.
bool segment::give_back(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if ((offset | bytes) % control_.file_unit != 0) return false;
  if (madvise(reinterpret_cast<void*>(heap_address_ + offset), bytes, MADV_REMOVE) != 0) return false;
  returned_ += bytes;
  return true;
}

// Checks that the intents that every machine has, with and without populate, have different entries in `known_`.
static constexpr bool have_their_own(std::size_t places) {
  std::uint64_t taken = 0;
  for (const intent& what : intents_everywhere)
    for (const bool populate : {false, true}) {
      const std::uint64_t bit = std::uint64_t{1} << arena_key(what, populate) % places;
      if ((taken & bit) != 0) return false;
      taken |= bit;
    }
  return true;
}

unsigned segment::arena_for(const intent& what, bool populate) {
  static_assert(known_arenas == 64 && have_their_own(known_arenas));
  if (placed_ == nullptr)
    placed_ = std::make_unique<intent_arenas>(control_, promises_, status_.placed, orderings_here());
  const unsigned arena = placed_->arena_for(what, populate, heap_);
  const std::uint64_t key = arena_key(what, populate);
  known_[key % known_arenas] = {key, &heap_.numbered(arena)};
  return arena;
}

bool segment::place(unsigned arena, std::uint64_t offset, std::uint64_t bytes) noexcept {
  auto* const memory = reinterpret_cast<std::byte*>(heap_address_ + offset);
  // The heap's free memory is poisoned, and the placement may make pages by touching them.
  ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
  const bool is_placed = placed_->place(arena, memory, bytes, huge_pages_);
  ASAN_POISON_MEMORY_REGION(memory, bytes);
  return is_placed;
}

bool segment::owns_pages(const std::byte* block) const noexcept {
  const std::uint64_t chunk = (reinterpret_cast<std::uintptr_t>(block) - heap_address_) >> chunk_shift;
  if (chunk >= heap_.open_chunks() || heap_.map().entry(static_cast<std::uint32_t>(chunk)).kind != chunk_kind::large)
    return false;
  const std::uint64_t bytes = std::uint64_t{heap_.map().states[chunk].chunks.load(std::memory_order_relaxed)}
                              << chunk_shift;
  return (reinterpret_cast<std::uintptr_t>(block) | bytes) % control_.file_unit == 0;
}

placement_report segment::move_to(const intent& what, std::byte* block, std::size_t bytes) {
  const unsigned arena = arena_for(what);
  return placed_->move(arena, block, round_up(bytes, chunk_bytes));
}

bool segment::freed(std::uint64_t offset, std::uint64_t) noexcept {
  return placed_ != nullptr && placed_->freed(reinterpret_cast<std::byte*>(heap_address_ + offset));
}

void segment::unplace(std::uint64_t offset, std::uint64_t bytes) noexcept {
  placed_->unplace(reinterpret_cast<std::byte*>(heap_address_ + offset), bytes);
}

}  // namespace situ::detail
