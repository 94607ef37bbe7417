#include <situ/pim/detail/vector_core.h>

#include <situ/base/error_code.h>
#include <situ/pim/bmem.h>
#include <situ/pim/memory.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "pim/device.h"

namespace situ::pim::detail {
namespace {

// A shape for some elements of a vector, and how many it holds.
struct shape {
  std::uint32_t subarrays = 0;
  std::uint32_t rows = 0;
  std::uint64_t elements = 0;
};

std::uint64_t quotient_up(std::uint64_t of, std::uint64_t by) { return (of + by - 1) / by; }

shape largest_shape(const geometry& in, const element_type& type, std::uint64_t count) {
  if (type.direction == dimension::vertical) {
    const std::uint64_t subarrays = std::min<std::uint64_t>(quotient_up(count, in.columns), in.subarrays);
    return {static_cast<std::uint32_t>(subarrays), type.bits, subarrays * in.columns};
  }
  const std::uint64_t each = in.columns / type.bits;
  const std::uint64_t granules = quotient_up(count, each);
  const std::uint64_t subarrays = std::min<std::uint64_t>(granules, in.subarrays);
  const std::uint64_t rows = std::min<std::uint64_t>(quotient_up(granules, subarrays), in.rows);
  return {static_cast<std::uint32_t>(subarrays), static_cast<std::uint32_t>(rows), subarrays * rows * each};
}

// Halves the longer side that may be halved; false: there is no smaller shape.
bool halve(shape& of, const element_type& type) {
  const bool may_have_fewer_rows = type.direction == dimension::horizontal && of.rows > 1;
  if (of.subarrays == 1 && !may_have_fewer_rows) return false;
  std::uint32_t& side = may_have_fewer_rows && of.rows >= of.subarrays ? of.rows : of.subarrays;
  const std::uint64_t each = of.elements / side;
  side /= 2;
  of.elements = each * side;
  return true;
}

bool has_room_for_type(const geometry& in, const element_type& type) {
  return type.direction == dimension::vertical ? type.bits <= in.rows : type.bits <= in.columns;
}

}  // namespace

vector_core::vector_core(pim::memory& in, std::uint64_t size, element_type type)
    : memory_{&in}, size_{size}, type_{type} {
  if (size == 0) throw_error(errc::bad_argument, "pim: a vector has at least one element");
  try {
    place(0, size);
  } catch (...) {
    release();
    throw;
  }
}

vector_core::vector_core(const vector_core& other, element_type type)
    : memory_{other.memory_}, size_{other.size_}, type_{type} {
  if (type.direction != other.type_.direction ||
      (type.direction == dimension::horizontal && type.bits != other.type_.bits))
    throw_error(errc::bad_argument,
                "pim: side by side lie vertical vectors, or horizontal ones whose elements have the same width");
  try {
    for (const piece& its : other.pieces_) {
      bmem& room = memory_->room(its.device);
      const std::uint32_t rows = type.direction == dimension::vertical ? type.bits : its.where.rows;
      if (void* const beside = room.try_allocate_beside(its.handle, rows); beside != nullptr)
        pieces_.push_back({its.device, beside, room.find(beside), its.first, its.count});
      else
        place(its.first, its.count);
    }
  } catch (...) {
    release();
    throw;
  }
}

vector_core::~vector_core() { release(); }
vector_core::vector_core(vector_core&& other) noexcept
    : memory_{other.memory_}, size_{other.size_}, type_{other.type_}, pieces_{std::exchange(other.pieces_, {})} {}
vector_core& vector_core::operator=(vector_core&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  std::swap(type_, other.type_);
  std::swap(pieces_, other.pieces_);
  return *this;
}

void vector_core::release() noexcept {
  for (const piece& each : pieces_) memory_->room(each.device).free(each.handle);
  pieces_.clear();
}

void vector_core::place(std::uint64_t first, std::uint64_t count) {
  for (std::size_t device = 0; device < memory_->devices() && count > 0; ++device) {
    const geometry in = shape_of(memory_->figures(device));
    if (!has_room_for_type(in, type_)) continue;
    bmem& room = memory_->room(device);
    shape wanted = largest_shape(in, type_, count);
    while (count > 0) {
      void* const handle = room.try_allocate_block(wanted.subarrays, wanted.rows);
      if (handle == nullptr) {
        if (!halve(wanted, type_)) break;
        continue;
      }
      const std::uint64_t here = std::min(count, wanted.elements);
      pieces_.push_back({device, handle, room.find(handle), first, here});
      first += here;
      count -= here;
      if (count > 0 && count < wanted.elements) wanted = largest_shape(in, type_, count);
    }
  }
  if (count > 0) throw_no_room(size_ - count);
}

std::vector<device_rows> vector_core::rows() const {
  std::vector<device_rows> rows = memory_access::rows_of(*memory_);
  for (const piece& each : pieces_) rows[each.device].placed += each.where.granules();
  return rows;
}

std::string vector_core::placement() const { return format_rows(rows()); }

void vector_core::throw_no_room(std::uint64_t placed) const {
  const bool is_vertical = type_.direction == dimension::vertical;
  detail::throw_no_room(
      fmt::format("a vector of {} {} elements of {} bits", size_, is_vertical ? "vertical" : "horizontal", type_.bits),
      (size_ * type_.bits + 7) / 8, rows(),
      fmt::format("after {} elements no {} is free", placed,
                  is_vertical ? fmt::format("run of {} rows", type_.bits) : "row"));
}

std::uint64_t vector_core::check_range(std::uint64_t first, std::size_t bytes) const {
  const std::uint64_t count = bytes / type_.host_bytes;
  if (first > size_ || count > size_ - first)
    throw_error(errc::bad_argument,
                fmt::format("pim: elements {} to {} of a vector that has {}", first, first + count - 1, size_));
  return count;
}

void vector_core::write(std::uint64_t first, std::span<const std::byte> values) {
  const std::uint64_t count = check_range(first, values.size());
  const element_form form{type_.direction, type_.bits, type_.host_bytes, type_.is_signed};
  for (const piece& each : pieces_) {
    const std::uint64_t from = std::max(first, each.first), to = std::min(first + count, each.first + each.count);
    if (from >= to) continue;
    device& in = memory_->device_at(each.device);
    in.cells.write(each.where, form, from - each.first,
                   values.subspan((from - first) * type_.host_bytes, (to - from) * type_.host_bytes));
    memory_access::count_transfer(*memory_, in, (to - from) * type_.bits / 8, type_.direction == dimension::vertical);
  }
}

void vector_core::read(std::uint64_t first, std::span<std::byte> values) const {
  const std::uint64_t count = check_range(first, values.size());
  const element_form form{type_.direction, type_.bits, type_.host_bytes, type_.is_signed};
  for (const piece& each : pieces_) {
    const std::uint64_t from = std::max(first, each.first), to = std::min(first + count, each.first + each.count);
    if (from >= to) continue;
    device& in = memory_->device_at(each.device);
    in.cells.read(each.where, form, from - each.first,
                  values.subspan((from - first) * type_.host_bytes, (to - from) * type_.host_bytes));
    memory_access::count_transfer(*memory_, in, (to - from) * type_.bits / 8, type_.direction == dimension::vertical);
  }
}

}  // namespace situ::pim::detail
