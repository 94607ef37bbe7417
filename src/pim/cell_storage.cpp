#include "pim/cell_storage.h"

#include <situ/base/error_code.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "pim/transpose.h"

namespace situ::pim {
namespace {

constexpr unsigned word_bits = 64;

std::string in_words(const block& where) {
  return fmt::format("the block of {} subarrays x {} rows at subarray {}, row {}", where.subarrays, where.rows,
                     where.subarray, where.row);
}

// Returns the lowest bits set.
std::uint64_t low_bits(unsigned count) noexcept {
  return count >= word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

std::uint64_t load(const std::byte* from, unsigned bytes) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

std::uint64_t extended(std::uint64_t value, const element_form& form) noexcept {
  if (!form.sign_extends || form.bits == word_bits) return value;
  const std::uint64_t sign = std::uint64_t{1} << (form.bits - 1);
  return (value ^ sign) - sign;
}

}  // namespace

cell_storage::cell_storage(const geometry& shape, const memory_kind& kind, std::string_view what) : shape_{shape} {
  check(shape);
  tiles_ = (shape.columns + tile_columns - 1) / tile_columns;
  const std::size_t bytes = std::size_t{shape.all_subarrays()} * tiles_ * tile_size() * sizeof(std::uint64_t);
  memory_ = situ::detail::page_source{kind, false}.map(bytes, what);
  words_ = reinterpret_cast<std::uint64_t*>(memory_.data());
}

std::uint64_t cell_storage::capacity(const block& where, const element_form& form) const {
  check_block(where);
  if (form.direction == dimension::vertical)
    return where.rows < form.bits ? 0 : std::uint64_t{shape_.columns} * where.subarrays;
  return where.granules() * (shape_.columns / form.bits);
}

void cell_storage::check_block(const block& where) const {
  if (where.subarrays == 0 || where.rows == 0 || where.subarrays > shape_.all_subarrays() ||
      where.subarray > shape_.all_subarrays() - where.subarrays || where.rows > shape_.rows ||
      where.row > shape_.rows - where.rows)
    throw_error(errc::bad_argument,
                fmt::format("pim: {} is not in the device of {} subarrays x {} rows: give a block of its allocator",
                            in_words(where), shape_.all_subarrays(), shape_.rows));
}

void cell_storage::check_form(const block& where, const element_form& form, std::uint64_t first,
                              std::size_t bytes) const {
  if (form.bits == 0 || form.bits > word_bits || !std::has_single_bit(form.host_bytes) || form.host_bytes > 8 ||
      form.bits > 8 * form.host_bytes)
    throw_error(errc::bad_argument,
                fmt::format("pim: elements of {} bits, of {} bytes in the host: 1 to 64 bits, and 1, 2, 4 or 8 bytes "
                            "that hold them",
                            form.bits, form.host_bytes));
  const std::uint64_t room = capacity(where, form);
  if (bytes % form.host_bytes != 0)
    throw_error(errc::bad_argument,
                fmt::format("pim: {} bytes are no whole number of elements of {} bytes", bytes, form.host_bytes));
  if (first > room || bytes / form.host_bytes > room - first)
    throw_error(errc::bad_argument, fmt::format("pim: elements {} to {} of {} bits: {} holds {}", first,
                                                first + bytes / form.host_bytes, form.bits, in_words(where), room));
}

void cell_storage::write(const block& where, const element_form& form, std::uint64_t first,
                         std::span<const std::byte> values) {
  check_form(where, form, first, values.size());
  const std::uint64_t count = values.size() / form.host_bytes;
  if (form.direction == dimension::vertical)
    write_vertical(where, form, first, values.data(), count);
  else
    write_horizontal(where, form, first, values.data(), count);
}

void cell_storage::read(const block& where, const element_form& form, std::uint64_t first,
                        std::span<std::byte> values) const {
  check_form(where, form, first, values.size());
  const std::uint64_t count = values.size() / form.host_bytes;
  if (form.direction == dimension::vertical)
    read_vertical(where, form, first, values.data(), count);
  else
    read_horizontal(where, form, first, values.data(), count);
}

void cell_storage::write(const block& where, dimension direction, unsigned bits, std::uint64_t first,
                         std::span<const std::uint64_t> values) {
  write(where, {direction, bits, 8, false}, first, std::as_bytes(values));
}

void cell_storage::read(const block& where, dimension direction, unsigned bits, std::uint64_t first,
                        std::span<std::uint64_t> values, bool sign_extends) const {
  read(where, {direction, bits, 8, sign_extends}, first, std::as_writable_bytes(values));
}

// Elements come in groups that share a word of each row.
void cell_storage::write_vertical(const block& where, const element_form& form, std::uint64_t first,
                                  const std::byte* values, std::uint64_t count) {
  const instruction_set set = best_instruction_set();
  std::array<std::byte, word_bits * 8> part{};
  std::array<std::uint64_t, word_bits> planes{};
  while (count > 0) {
    const auto column = static_cast<std::uint32_t>(first % shape_.columns);
    const unsigned shift = column % word_bits;
    const auto taken = static_cast<unsigned>(std::min<std::uint64_t>(count, word_bits - shift));
    std::uint64_t* to = word_of(where.subarray + static_cast<std::uint32_t>(first / shape_.columns), where.row, column);
    if (taken == word_bits) {
      to_planes(set, values, form.host_bytes, form.bits, to, tile_words);
    } else {
      std::memcpy(part.data() + std::size_t{shift} * form.host_bytes, values, std::size_t{taken} * form.host_bytes);
      to_planes(set, part.data(), form.host_bytes, form.bits, planes.data(), 1);
      const std::uint64_t mask = low_bits(taken) << shift;
      for (unsigned k = 0; k < form.bits; ++k)
        to[std::size_t{k} * tile_words] = (to[std::size_t{k} * tile_words] & ~mask) | (planes[k] & mask);
    }
    values += std::size_t{taken} * form.host_bytes;
    first += taken;
    count -= taken;
  }
}

void cell_storage::read_vertical(const block& where, const element_form& form, std::uint64_t first, std::byte* values,
                                 std::uint64_t count) const {
  const instruction_set set = best_instruction_set();
  std::array<std::byte, word_bits * 8> part{};
  while (count > 0) {
    const auto column = static_cast<std::uint32_t>(first % shape_.columns);
    const unsigned shift = column % word_bits;
    const auto taken = static_cast<unsigned>(std::min<std::uint64_t>(count, word_bits - shift));
    const std::uint64_t* from =
        word_of(where.subarray + static_cast<std::uint32_t>(first / shape_.columns), where.row, column);
    if (taken == word_bits) {
      from_planes(set, from, tile_words, form.bits, form.sign_extends, form.host_bytes, values);
    } else {
      from_planes(set, from, tile_words, form.bits, form.sign_extends, form.host_bytes, part.data());
      std::memcpy(values, part.data() + std::size_t{shift} * form.host_bytes, std::size_t{taken} * form.host_bytes);
    }
    values += std::size_t{taken} * form.host_bytes;
    first += taken;
    count -= taken;
  }
}

void cell_storage::write_horizontal(const block& where, const element_form& form, std::uint64_t first,
                                    const std::byte* values, std::uint64_t count) {
  const std::uint64_t in_row = shape_.columns / form.bits;
  const std::uint64_t mask = low_bits(form.bits);
  for (std::uint64_t i = first; i < first + count; ++i, values += form.host_bytes) {
    const std::uint64_t granule = i / in_row;
    const auto subarray = where.subarray + static_cast<std::uint32_t>(granule % where.subarrays);
    const auto row = where.row + static_cast<std::uint32_t>(granule / where.subarrays);
    const auto column = static_cast<std::uint32_t>(i % in_row * form.bits);
    const std::uint64_t value = load(values, form.host_bytes) & mask;
    const unsigned shift = column % word_bits;
    std::uint64_t* low = word_of(subarray, row, column);
    *low = (*low & ~(mask << shift)) | (value << shift);
    if (shift + form.bits <= word_bits) continue;
    std::uint64_t* high = word_of(subarray, row, column + form.bits - 1);
    *high = (*high & ~(mask >> (word_bits - shift))) | (value >> (word_bits - shift));
  }
}

void cell_storage::read_horizontal(const block& where, const element_form& form, std::uint64_t first, std::byte* values,
                                   std::uint64_t count) const {
  const std::uint64_t in_row = shape_.columns / form.bits;
  const std::uint64_t mask = low_bits(form.bits);
  for (std::uint64_t i = first; i < first + count; ++i, values += form.host_bytes) {
    const std::uint64_t granule = i / in_row;
    const auto subarray = where.subarray + static_cast<std::uint32_t>(granule % where.subarrays);
    const auto row = where.row + static_cast<std::uint32_t>(granule / where.subarrays);
    const auto column = static_cast<std::uint32_t>(i % in_row * form.bits);
    const unsigned shift = column % word_bits;
    std::uint64_t value = *word_of(subarray, row, column) >> shift;
    if (shift + form.bits > word_bits) value |= *word_of(subarray, row, column + form.bits - 1) << (word_bits - shift);
    value = extended(value & mask, form);
    std::memcpy(values, &value, form.host_bytes);
  }
}

void cell_storage::write_row(std::uint32_t subarray, std::uint32_t row, std::span<const std::uint64_t> bits) {
  check_block({subarray, row, 1, 1});
  if (bits.size() * word_bits != shape_.columns)
    throw_error(errc::bad_argument, fmt::format("pim: {} words for a row of {} columns", bits.size(), shape_.columns));
  for (std::size_t w = 0; w < bits.size(); w += tile_words)
    std::memcpy(word_of(subarray, row, static_cast<std::uint32_t>(w * word_bits)), bits.data() + w,
                std::min<std::size_t>(tile_words, bits.size() - w) * sizeof(std::uint64_t));
}

void cell_storage::read_row(std::uint32_t subarray, std::uint32_t row, std::span<std::uint64_t> bits) const {
  check_block({subarray, row, 1, 1});
  if (bits.size() * word_bits != shape_.columns)
    throw_error(errc::bad_argument, fmt::format("pim: {} words for a row of {} columns", bits.size(), shape_.columns));
  for (std::size_t w = 0; w < bits.size(); w += tile_words)
    std::memcpy(bits.data() + w, word_of(subarray, row, static_cast<std::uint32_t>(w * word_bits)),
                std::min<std::size_t>(tile_words, bits.size() - w) * sizeof(std::uint64_t));
}

void cell_storage::copy(const block& from, const block& to) {
  check_block(from);
  check_block(to);
  if (from.subarrays != to.subarrays || from.rows != to.rows)
    throw_error(errc::bad_argument,
                fmt::format("pim: {} cannot be copied to {}: they differ in shape", in_words(from), in_words(to)));
  for (std::uint32_t i = 0; i < from.subarrays; ++i) {
    // If the blocks overlap, the last subarray goes first if it would be written before it is read.
    const std::uint32_t s = to.subarray > from.subarray ? from.subarrays - 1 - i : i;
    for (std::uint32_t t = 0; t < tiles_; ++t)
      std::memmove(tile(to.subarray + s, t).row(to.row), tile(from.subarray + s, t).row(from.row),
                   std::size_t{from.rows} * tile_words * sizeof(std::uint64_t));
  }
}

}  // namespace situ::pim
