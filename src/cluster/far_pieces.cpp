#include "cluster/far_pieces.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "os/bytes.h"

namespace situ::detail::cluster {
namespace {

constexpr std::size_t most_pieces = 16;  // outstanding pieces of one operation: 2 MiB

std::byte* moved_by(std::byte* origin, std::ptrdiff_t elements, std::size_t element_bytes) noexcept {
  return origin + elements * static_cast<std::ptrdiff_t>(element_bytes);
}

// Copies the elements of a box of the caller's memory to, or from, a dense array.
void copy_dense(access how, std::byte* near, const std::ptrdiff_t* strides, const std::size_t* extents,
                std::size_t dimensions, std::size_t element_bytes, std::byte*& dense) {
  if (dimensions == 0) {
    if (how == access::put) {
      std::memcpy(dense, near, element_bytes);
    } else {
      std::memcpy(near, dense, element_bytes);
    }
    dense += element_bytes;
    return;
  }
  for (std::size_t i = 0; i < extents[0]; ++i)
    copy_dense(how, moved_by(near, static_cast<std::ptrdiff_t>(i) * strides[0], element_bytes), strides + 1,
               extents + 1, dimensions - 1, element_bytes, dense);
}

[[nodiscard]] std::size_t bytes_in(const strided_box& box) noexcept {
  std::size_t bytes = box.element_bytes;
  for (std::size_t d = 0; d < box.dimensions; ++d) bytes = bytes_of(box.extents[d], bytes);
  return bytes;
}

// Calls `send` with the bytes before each piece, and the bytes of the piece.
template <class Send>
void for_each_piece(std::size_t bytes, Send send) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t now = std::min<std::size_t>(bytes - done, most_piece_bytes);
    send(done, now);
    done += now;
  }
}

}  // namespace

far_place::pieces::~pieces() {
  while (!under_way_.empty()) finish_first();
}

void far_place::pieces::put(std::uintptr_t to, const std::byte* from, std::size_t bytes) {
  for_each_piece(bytes, [&](std::size_t done, std::size_t now) {
    operation_head head{.what = static_cast<std::uint8_t>(far_operation::put)};
    head.address = to + done;
    head.bytes = now;
    head.second = bytes - done - now;
    add(head, {}, {from + done, now}, {});
  });
}

void far_place::pieces::get(std::byte* to, std::uintptr_t from, std::size_t bytes) {
  for_each_piece(bytes, [&](std::size_t done, std::size_t now) {
    operation_head head{.what = static_cast<std::uint8_t>(far_operation::get)};
    head.address = from + done;
    head.bytes = now;
    head.second = bytes - done - now;
    add(head, {}, {}, {.to = to + done});
  });
}

void far_place::pieces::look_at(std::uint32_t place, shown_part of, std::uint64_t offset, std::span<std::byte> to) {
  for_each_piece(to.size(), [&](std::size_t done, std::size_t now) {
    operation_head head{.what = static_cast<std::uint8_t>(far_operation::shown)};
    head.address = self_.slice_of(place);
    head.bytes = now;
    head.second = offset + done;
    head.third = static_cast<std::uint64_t>(of);
    add(head, {}, {}, {.to = to.data() + done});
  });
}

void far_place::pieces::move_box(access how, const strided_box& box) {
  std::uintptr_t begin = box.far;
  std::uint64_t reach = 0;  // the range fits a slice: the slow path of the access has checked that
  for (std::size_t d = 0; d < box.dimensions; ++d) {
    const auto step = static_cast<std::uint64_t>(box.far_strides[d] < 0 ? -box.far_strides[d] : box.far_strides[d]);
    const std::uint64_t bytes = (box.extents[d] - 1) * step * box.element_bytes;
    reach += bytes;
    if (box.far_strides[d] < 0) begin -= bytes;
  }
  move_part({begin, reach + box.element_bytes}, how, box);
}

void far_place::pieces::move_part(const box_range& within, access how, const strided_box& part) {
  const std::size_t bytes = bytes_in(part);
  const bool is_dense =
      part.dimensions == 0 || (part.dimensions == 1 && part.far_strides[0] == 1 && part.near_strides[0] == 1);
  if (is_dense) return how == access::put ? put(part.far, part.near, bytes) : get(part.near, part.far, bytes);
  if (bytes <= most_copied_bytes && part.dimensions <= most_box_dimensions) return add_part(within, how, part);

  const std::size_t inner_bytes =
      bytes_in({.extents = part.extents + 1, .dimensions = part.dimensions - 1, .element_bytes = part.element_bytes});
  const bool fits = inner_bytes <= most_copied_bytes && part.dimensions <= most_box_dimensions;
  const std::size_t at_once = fits ? most_copied_bytes / inner_bytes : 1;
  std::vector<std::size_t> extents{part.extents, part.extents + part.dimensions};
  for (std::size_t i = 0; i < part.extents[0]; i += at_once) {
    strided_box next = part;
    next.far += static_cast<std::uintptr_t>(part.far_strides[0]) * i * part.element_bytes;
    next.near = moved_by(part.near, static_cast<std::ptrdiff_t>(i) * part.near_strides[0], part.element_bytes);
    if (fits) {
      extents[0] = std::min(at_once, part.extents[0] - i);
      next.extents = extents.data();
      add_part(within, how, next);
    } else {
      ++next.extents;
      ++next.far_strides;
      ++next.near_strides;
      --next.dimensions;
      move_part(within, how, next);
    }
  }
}

void far_place::pieces::add_part(const box_range& within, access how, const strided_box& part) {
  const std::size_t bytes = bytes_in(part);
  operation_head head{
      .what = static_cast<std::uint8_t>(how == access::put ? far_operation::box_put : far_operation::box_get)};
  head.address = part.far;
  head.bytes = bytes;
  head.second = within.begin;
  head.third = within.bytes;
  os::short_bytes<sizeof(box_head) + std::size_t{16} * most_box_dimensions> shape;
  shape.add(box_head{static_cast<std::uint32_t>(part.dimensions), static_cast<std::uint32_t>(part.element_bytes)})
      .add_bytes(std::as_bytes(std::span{part.extents, part.dimensions}))
      .add_bytes(std::as_bytes(std::span{part.far_strides, part.dimensions}));
  const std::span<const std::byte> shown = shape.bytes();

  auto dense = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::byte* const elements = dense.get();
  if (how == access::get) {
    return add(head, shown, {},
               {.to = elements,
                .dense = std::move(dense),
                .near = part.near,
                .strides = {part.near_strides, part.near_strides + part.dimensions},
                .extents = {part.extents, part.extents + part.dimensions},
                .element_bytes = part.element_bytes});
  }
  std::byte* at = elements;
  copy_dense(how, part.near, part.near_strides, part.extents, part.dimensions, part.element_bytes, at);
  add(head, shown, {elements, bytes}, {});
}

void far_place::pieces::finish() {
  while (!under_way_.empty()) finish_first();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void far_place::pieces::add(const operation_head& head, std::span<const std::byte> shape,
                            std::span<const std::byte> data, piece made) {
  while (under_way_.size() >= most_pieces) finish_first();
  if (failure_) finish();
  made.index = self_.begin(head, shape, data, made.to, made.to == nullptr ? 0 : head.bytes);
  under_way_.push_back(std::move(made));
}

void far_place::pieces::finish_first() noexcept {
  piece first = std::move(under_way_.front());
  under_way_.pop_front();
  try {
    (void)self_.finish(first.index);
    std::byte* dense = first.dense.get();
    if (dense != nullptr)
      copy_dense(access::get, first.near, first.strides.data(), first.extents.data(), first.extents.size(),
                 first.element_bytes, dense);
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
}

}  // namespace situ::detail::cluster
