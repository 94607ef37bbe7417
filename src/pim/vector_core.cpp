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

// A rectangle for some elements of a vector, and how many it holds.
struct rectangle {
  std::uint32_t subarrays = 0;
  std::uint32_t rows = 0;
  std::uint64_t elements = 0;
};

std::uint64_t quotient_up(std::uint64_t of, std::uint64_t by) { return (of + by - 1) / by; }

// The part of a bank if elements are dealt to `banks` of them, as many subarrays to each.
rectangle dealt_rectangle(const geometry& in, const element_type& type, std::uint64_t count, std::uint32_t banks) {
  const bool is_vertical = type.direction == dimension::vertical;
  const std::uint64_t each = is_vertical ? in.columns : in.columns / type.bits;  // elements of a subarray, or of a row
  const std::uint64_t units = quotient_up(count, each);
  const std::uint64_t subarrays = std::min<std::uint64_t>(quotient_up(units, banks), in.subarrays);
  const std::uint64_t rows =
      is_vertical ? type.bits : std::min<std::uint64_t>(quotient_up(units, subarrays * banks), in.rows);
  return {static_cast<std::uint32_t>(subarrays), static_cast<std::uint32_t>(rows),
          subarrays * each * (is_vertical ? 1 : rows)};
}

// Halves the longer side that may be halved; false: there is no smaller rectangle.
bool halve(rectangle& of, const element_type& type) {
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
    : memory_{other.memory_},
      size_{std::exchange(other.size_, 0)},
      type_{other.type_},
      pieces_{std::exchange(other.pieces_, {})} {}
vector_core& vector_core::operator=(vector_core&& other) noexcept {
  if (this == &other) return *this;
  release();
  memory_ = other.memory_;
  size_ = std::exchange(other.size_, 0);
  type_ = other.type_;
  pieces_ = std::exchange(other.pieces_, {});
  return *this;
}

void vector_core::release() noexcept {
  for (const piece& each : pieces_) memory_->room(each.device).free(each.handle);
  pieces_.clear();
}

void vector_core::take(std::size_t device, void* handle, std::uint64_t elements, part& left) {
  const std::uint64_t here = std::min(left.count, elements);
  pieces_.push_back({device, handle, memory_->room(device).find(handle), left.first, here});
  left.first += here;
  left.count -= here;
}

// Deals elements to all banks, as those work at the same time, layer on layer, as long as a bank has room.
void vector_core::deal(std::size_t device, part& left) {
  const geometry in = shape_of(memory_->figures(device));
  bmem& room = memory_->room(device);
  for (bool is_dealt = true; is_dealt && left.count > 0;) {
    is_dealt = false;
    rectangle wanted = dealt_rectangle(in, type_, left.count, in.banks);
    for (std::uint32_t i = 0; i < in.banks && left.count > 0; ++i) {
      const std::uint32_t bank = memory_access::next_bank(*memory_, device);
      if (left.count < wanted.elements) wanted = dealt_rectangle(in, type_, left.count, 1);
      void* const handle = room.try_allocate_block_in(bank, wanted.subarrays, wanted.rows);
      if (handle == nullptr) continue;
      take(device, handle, wanted.elements, left);
      is_dealt = true;
    }
  }
}

// Takes what rectangles there are, in whichever bank.
void vector_core::fill(std::size_t device, part& left) {
  const geometry in = shape_of(memory_->figures(device));
  bmem& room = memory_->room(device);
  rectangle wanted = dealt_rectangle(in, type_, left.count, 1);
  while (left.count > 0) {
    if (void* const handle = room.try_allocate_block(wanted.subarrays, wanted.rows); handle != nullptr) {
      take(device, handle, wanted.elements, left);
      if (left.count > 0 && left.count < wanted.elements) wanted = dealt_rectangle(in, type_, left.count, 1);
    } else if (!halve(wanted, type_)) {
      return;
    }
  }
}

void vector_core::place(std::uint64_t first, std::uint64_t count) {
  part left{first, count};
  for (std::size_t device = 0; device < memory_->devices() && left.count > 0; ++device) {
    if (!has_room_for_type(shape_of(memory_->figures(device)), type_)) continue;
    deal(device, left);
    if (left.count > 0) fill(device, left);
  }
  if (left.count > 0) throw_no_room(left.first);
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

template <class Byte, class Access>
void vector_core::for_each_part(std::uint64_t first, std::span<Byte> values, Access access) const {
  const std::uint64_t count = check_range(first, values.size());
  const element_form form{type_.direction, type_.bits, type_.host_bytes, type_.is_signed};
  for (const piece& each : pieces_) {
    const std::uint64_t from = std::max(first, each.first), to = std::min(first + count, each.first + each.count);
    if (from >= to) continue;
    device& in = memory_->device_at(each.device);
    access(in.cells, each.where, form, from - each.first,
           values.subspan((from - first) * type_.host_bytes, (to - from) * type_.host_bytes));
    memory_access::count_transfer(*memory_, in, ((to - from) * type_.bits + 7) / 8,
                                  type_.direction == dimension::vertical);
  }
}

void vector_core::write(std::uint64_t first, std::span<const std::byte> values) {
  for_each_part(first, values,
                [](cell_storage& cells, const block& where, const element_form& form, std::uint64_t at,
                   std::span<const std::byte> part) { cells.write(where, form, at, part); });
}

void vector_core::read(std::uint64_t first, std::span<std::byte> values) const {
  for_each_part(first, values,
                [](const cell_storage& cells, const block& where, const element_form& form, std::uint64_t at,
                   std::span<std::byte> part) { cells.read(where, form, at, part); });
}

}  // namespace situ::pim::detail
