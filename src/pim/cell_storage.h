// The cells of a device: the bits of all rows of all subarrays, and the host's access to them.
//
//   subarray s   tile 0   row 0    32 words: columns 0 to 2047, column c is bit c % 64 of word c / 64
//                         row 1    32 words
//                         ...      the geometry's rows, then own_cells rows for computing
//                tile 1   ...      columns 2048 to 4095
//   subarray s + 1 ...
//
// A program works on one tile after the other, so its rows lie within a few pages: rows of whole subarrays were three
// times slower. The last tile of a subarray is padded, if the columns are not a multiple of 2,048.
//
// Elements of a block of p subarrays, first element 0:
//   vertical     bit k of element i is in row k, in column i % columns of subarray i / columns
//   horizontal   e = columns / bits elements lie in a row of a subarray; element i is in granule i / e, and granule g
//                is row g / p of subarray g % p. The columns behind the last element of a row are unused
// A row of one-bit results is a vertical block of one bit.
#pragma once

#include <situ/pages/memory_kind.h>
#include <situ/pim/geometry.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "pages/page_source.h"
#include "pim/bound_program.h"

namespace situ::pim {

// The layout of elements in a block, and in the host's memory.
struct element_form {
  dimension direction = dimension::vertical;
  unsigned bits = 32;        // of an element in the device, 1 to 64
  unsigned host_bytes = 4;   // of an element in the host's memory: 1, 2, 4 or 8, at least `bits` bits
  bool sign_extends = true;  // whether the host's bits above `bits` are the sign, when elements are read
};

// The cells of a device. Threads may use different rows of it, or read the same, at a time.
class cell_storage {
 public:
  // Maps the cells of a device, all zero; their pages exist once they are written. kind: where pages come from.
  // what: names the device in errors. Throws bad_argument for a shape that check() refuses, out_of_memory and what
  // page_source throws. cost: a system call or two.
  explicit cell_storage(const geometry& shape, const memory_kind& kind = {}, std::string_view what = "pim");

  [[nodiscard]] const geometry& shape() const noexcept { return shape_; }
  // Returns the tiles of a subarray.
  [[nodiscard]] std::uint32_t tiles() const noexcept { return tiles_; }
  // pre: the numbers exist.
  [[nodiscard]] tile_cells tile(std::uint32_t subarray, std::uint32_t number) const noexcept {
    return {words_ + (std::size_t{subarray} * tiles_ + number) * tile_size(), shape_.rows};
  }
  // Returns the number of elements that fit into a block.
  [[nodiscard]] std::uint64_t capacity(const block& where, const element_form& form) const;

  // Writes host elements from `first` on, and leaves other elements as they are. The host's bits above form.bits are
  // ignored. Throws bad_argument, naming the block, if it is not in the device, if the form has no such widths, if
  // values is no whole number of elements, or if elements lie outside the block. cost: vertical int32, 2 ns each.
  void write(const block& where, const element_form& form, std::uint64_t first, std::span<const std::byte> values);
  // Reads elements. Throws as write().
  void read(const block& where, const element_form& form, std::uint64_t first, std::span<std::byte> values) const;
  // These two take values in 64-bit words. read() extends the sign if the caller asks for it.
  void write(const block& where, dimension direction, unsigned bits, std::uint64_t first,
             std::span<const std::uint64_t> values);
  void read(const block& where, dimension direction, unsigned bits, std::uint64_t first,
            std::span<std::uint64_t> values, bool sign_extends = false) const;

  // Writes or reads a whole row of a subarray: columns / 64 words. Throws bad_argument for other sizes, or if the row
  // is not in the device.
  void write_row(std::uint32_t subarray, std::uint32_t row, std::span<const std::uint64_t> bits);
  void read_row(std::uint32_t subarray, std::uint32_t row, std::span<std::uint64_t> bits) const;
  // Copies rows between subarrays: a transfer through the host's bus, which the caller prices. Blocks of the same
  // shape; throws bad_argument if they are not, or not in the device.
  void copy(const block& from, const block& to);

  // Throws bad_argument, naming the block and the device's shape, unless the block is in the device and not empty.
  void check_block(const block& where) const;

 private:
  [[nodiscard]] std::size_t tile_size() const noexcept { return (std::size_t{shape_.rows} + own_cells) * tile_words; }
  void check_form(const block& where, const element_form& form, std::uint64_t first, std::size_t bytes) const;
  [[nodiscard]] std::uint64_t* word_of(std::uint32_t subarray, std::uint32_t row, std::uint32_t column) const noexcept {
    return tile(subarray, column / tile_columns).row(row) + column % tile_columns / 64;
  }
  void write_vertical(const block& where, const element_form& form, std::uint64_t first, const std::byte* values,
                      std::uint64_t count);
  void read_vertical(const block& where, const element_form& form, std::uint64_t first, std::byte* values,
                     std::uint64_t count) const;
  void write_horizontal(const block& where, const element_form& form, std::uint64_t first, const std::byte* values,
                        std::uint64_t count);
  void read_horizontal(const block& where, const element_form& form, std::uint64_t first, std::byte* values,
                       std::uint64_t count) const;

  geometry shape_;
  std::uint32_t tiles_ = 0;
  situ::detail::sourced_pages memory_;
  std::uint64_t* words_ = nullptr;
};

}  // namespace situ::pim
