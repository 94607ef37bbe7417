// A vector in memory that computes, without its C++ type: pieces, each a block of some device. For situ/pim/vector.h.
//
// Vertical elements: a piece of p subarrays has `bits` rows and p * columns elements. Horizontal ones: a piece of p
// subarrays and q rows has p * q * (columns / bits).
//
// A vector is dealt to all banks, since these work at the same time, beginning where the last one ended. If some bank
// has no room for its part, the rest goes where rectangles are free, whose sides are halved as long as there is none;
// then to the next device.
//
// Invariant: pieces are in the order of their elements and leave out none.
#pragma once

#include <situ/pim/geometry.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace situ::pim {

class memory;

namespace detail {

struct device_rows;

struct element_type {
  dimension direction = dimension::vertical;
  std::uint8_t bits = 32;       // 1 to 64
  bool is_signed = true;        // whether a read extends the sign
  std::uint8_t host_bytes = 4;  // of an element on the host: 1, 2, 4 or 8

  friend bool operator==(const element_type&, const element_type&) = default;
};

struct piece {
  std::size_t device = 0;
  void* handle = nullptr;  // of the device's bmem
  block where;
  std::uint64_t first = 0;  // its first element
  std::uint64_t count = 0;
};

class vector_core {
 public:
  // Takes room for `size` elements. Throws bad_argument for no elements; out_of_memory, naming the elements that found
  // room, what each device has and its largest free rectangle.
  vector_core(memory& in, std::uint64_t size, element_type type);
  // Takes room side by side with another vector: each piece in the subarrays of the other's, where these have room, and
  // anywhere else if not; operations then copy. Throws bad_argument if horizontal elements have another width.
  vector_core(const vector_core& other, element_type type);
  ~vector_core();
  // The source of a move has no elements and no rows afterwards.
  vector_core(vector_core&& other) noexcept;
  vector_core& operator=(vector_core&& other) noexcept;

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] const element_type& type() const noexcept { return type_; }
  [[nodiscard]] pim::memory& home() const noexcept { return *memory_; }
  [[nodiscard]] std::span<const piece> pieces() const noexcept { return pieces_; }
  // Returns the vector's location as text: "96 rows in pim 0, 32 in pim 1".
  [[nodiscard]] std::string placement() const;

  // Brings elements of the host's form to the memory, or back, from element `first` on. Throws bad_argument if they are
  // not all in the vector. cost: counted as host_bytes and transposed_bytes of the memory's cost.
  void write(std::uint64_t first, std::span<const std::byte> values);
  void read(std::uint64_t first, std::span<std::byte> values) const;

 private:
  struct part {  // elements that have no room yet
    std::uint64_t first, count;
  };
  void place(std::uint64_t first, std::uint64_t count);
  void deal(std::size_t device, part& left);
  void fill(std::size_t device, part& left);
  void take(std::size_t device, void* handle, std::uint64_t elements, part& left);
  [[nodiscard]] std::vector<device_rows> rows() const;
  [[noreturn]] void throw_no_room(std::uint64_t placed) const;
  void release() noexcept;
  // Calls access(cells, block, form, element of the block, values) for the part of each piece, and counts the transfer.
  template <class Byte, class Access>
  void for_each_part(std::uint64_t first, std::span<Byte> values, Access access) const;
  [[nodiscard]] std::uint64_t check_range(std::uint64_t first, std::size_t bytes) const;

  pim::memory* memory_ = nullptr;
  std::uint64_t size_ = 0;
  element_type type_;
  std::vector<piece> pieces_;
};

}  // namespace detail
}  // namespace situ::pim
