#include <situ/spread/detail/array_part.h>

#include <situ/base/error.h>
#include <situ/memory/allocate.h>
#include <situ/memory/detail/losses.h>
#include <situ/runtime/collective.h>
#include <situ/spread/distribution.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace situ::detail {
namespace {

// Parts of at least this size use huge pages. All of a part is written at once, so huge pages take no more memory, and
// are mapped sooner. Rounding to 2 MiB adds less than an eighth.
constexpr std::size_t large_part_bytes = std::size_t{16} << 20;

}  // namespace

array_part::array_part(std::size_t elements, std::size_t element_bytes, std::size_t alignment,
                       void (*make)(void* part, std::size_t elements), const team& members)
    : exceptions_before_{std::uncaught_exceptions()},
      failure_epoch_{&ended_places(*current->job)},
      members_{members.split(0, members.index())} {
  for (std::uint32_t i = 0; i < members_.size(); ++i) places_.push_back(members_.member(i));
  ptr<std::byte> own;
  std::exception_ptr failure;
  try {
    const std::size_t bytes = bytes_for(elements, element_bytes);
    own = situ::allocate_bytes(bytes, {.alignment = alignment, .huge_pages = bytes >= large_part_bytes});
    make(own.local(), elements);
  } catch (const error&) {
    failure = std::current_exception();
  }
  parts_ = all_gather(own, members_);
  const auto without = std::find(parts_.begin(), parts_.end(), ptr<std::byte>{});
  if (without == parts_.end()) return;
  if (failure) std::rethrow_exception(failure);
  deallocate(own);
  throw_error(errc::out_of_memory, fmt::format("place {} has no room for its part of a distributed_array of which each "
                                               "place is to hold {} elements of {} bytes",
                                               places_[static_cast<std::size_t>(without - parts_.begin())].index(),
                                               elements, element_bytes));
}

array_part& array_part::operator=(array_part&& other) noexcept {
  std::swap(exceptions_before_, other.exceptions_before_);
  std::swap(failure_epoch_, other.failure_epoch_);
  std::swap(members_, other.members_);
  places_.swap(other.places_);
  parts_.swap(other.parts_);
  return *this;
}

array_part::~array_part() {
  if (parts_.empty()) return;  // moved from
  if (current->runtime == nullptr || std::uncaught_exceptions() != exceptions_before_) return;
  try {
    barrier(members_);  // no member reads this part afterwards
    deallocate(parts_[members_.index()]);
  } catch (...) {  // reported to the finish scope, since a destructor cannot throw
    future_state<void> unheard;
    unheard.fail(std::current_exception());
    report_unheard(unheard, current->scheduler->task(), 1);
  }
}

void array_part::check_there_slow(std::uint32_t member) const {
  const std::uint32_t owner = places_[member].index();
  if (has_ended(*current->job, owner)) throw_loss_of(*current->job, owner);
}

std::vector<ghost_reach> find_reaches(const cut_axis& axis, std::uint32_t place, std::ptrdiff_t from, std::ptrdiff_t to,
                                      bool is_periodic) {
  std::vector<ghost_reach> found;
  const std::ptrdiff_t start = axis.global(place, 0);
  std::ptrdiff_t at = start + from, end = start + to;
  if (!is_periodic) {
    at = std::max<std::ptrdiff_t>(at, 0);
    end = std::min(end, axis.extent);
  }
  while (at < end) {
    // The offset of the period that contains `at`, if copies of the dimension are laid end to end.
    const std::ptrdiff_t image = (at >= 0 ? at / axis.extent : -((axis.extent - 1 - at) / axis.extent)) * axis.extent;
    const std::ptrdiff_t up_to = std::min(end, image + axis.extent);
    axis.for_each_piece(at - image, up_to - image, [&](const axis_piece& piece) {
      found.push_back({piece.place, piece.local, at + piece.offset - start, piece.length});
    });
    at = up_to;
  }
  return found;
}

void throw_outside(std::span<const std::ptrdiff_t> point, std::span<const std::ptrdiff_t> extents) {
  throw_error(errc::bad_argument, fmt::format("the point ({}) does not lie in an array of {} elements",
                                              fmt::join(point, ", "), fmt::join(extents, " x ")));
}

void throw_outside(std::span<const std::ptrdiff_t> low, std::span<const std::ptrdiff_t> high,
                   std::span<const std::ptrdiff_t> extents) {
  throw_error(errc::bad_argument, fmt::format("the points from ({}) to before ({}) do not all lie in an array of {} "
                                              "elements",
                                              fmt::join(low, ", "), fmt::join(high, ", "), fmt::join(extents, " x ")));
}

void throw_other_count(std::size_t points, std::size_t elements) {
  throw_error(
      errc::bad_argument,
      fmt::format("a region of {} points goes to or from memory of {} elements: give as many", points, elements));
}

void throw_not_single_blocks(std::size_t dimension, const char* what) {
  throw_error(errc::bad_argument, fmt::format("{}, and along dimension {} of the array a place has several: cut it by "
                                              "situ::cut::block() or none()",
                                              what, dimension));
}

void throw_wide_ghosts(std::size_t width) {
  throw_error(errc::bad_argument, fmt::format("no segment holds ghost zones {} elements wide", width));
}

void throw_too_many_places(std::uint64_t wanted, std::uint32_t members) {
  throw_error(errc::bad_argument, fmt::format("a distribution wants {} places along its dimensions together (or more), "
                                              "and the team has {}",
                                              wanted, members));
}

void throw_extent_too_large(std::size_t extent) {
  throw_error(errc::bad_argument,
              fmt::format("no job holds so many elements: {} in one dimension, times the others", extent));
}

}  // namespace situ::detail
