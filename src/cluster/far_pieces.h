// One operation of a place on another host's memory, cut into pieces that fit the wire's messages. At most 16 pieces
// are outstanding at once. All memory that they use, the caller's and their own, stays until each piece is answered:
// the destructor waits for the answers, too.
//
// Belongs to the thread that makes it, for one call. The members that start pieces throw what far_place::begin throws,
// and the failure of an earlier piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "cluster/far_place.h"

namespace situ::detail::cluster {

class far_place::pieces {
 public:
  explicit pieces(far_place& self) noexcept : self_{self} {}
  pieces(const pieces&) = delete;
  pieces& operator=(const pieces&) = delete;
  ~pieces();

  void put(std::uintptr_t to, const std::byte* from, std::size_t bytes);
  void get(std::byte* to, std::uintptr_t from, std::size_t bytes);
  // As far_place::look_at.
  void look_at(std::uint32_t place, shown_part of, std::uint64_t offset, std::span<std::byte> to);
  // Cuts the box until its parts fit messages: the outermost dimension first, rows in one piece if both sides are
  // dense. pre: the box lies within a slice.
  void move_box(access how, const strided_box& box);

  // Waits for all pieces; throws the first failure.
  void finish();

 private:
  // The bytes of another place's memory between the first and the last byte of a box, both included.
  struct box_range {
    std::uint64_t begin;
    std::uint64_t bytes;
  };
  struct piece {
    std::byte* to = nullptr;  // destination of the answer's bytes
    // For a box: the elements as they arrive, and their destination.
    std::unique_ptr<std::byte[]> dense{};
    std::byte* near = nullptr;
    std::vector<std::ptrdiff_t> strides{};
    std::vector<std::size_t> extents{};
    std::size_t element_bytes = 0;
    std::uint32_t index = 0;
  };

  void move_part(const box_range& within, access how, const strided_box& part);
  // pre: the part fits one message.
  void add_part(const box_range& within, access how, const strided_box& part);
  void add(const operation_head& head, std::span<const std::byte> shape, std::span<const std::byte> data, piece made);
  void finish_first() noexcept;

  far_place& self_;
  std::deque<piece> under_way_;
  std::exception_ptr failure_;
};

}  // namespace situ::detail::cluster
