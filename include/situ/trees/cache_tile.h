// cache_tile<T>: the lowest level of a place tree. The body of a loop copies a tile out of its child's memory into one
// contiguous piece, which stays in the cache while the body uses it often (vertical movement, section 2.1 of the
// paper).
//
//   [](const situ::tree_part& here, situ::rows_view<double> c, ...) {
//     situ::cache_tile<double> tile{here, 1 << 14};
//     tile.load(b.row(k), 128, 128, b.columns);       // down
//     ... tile.data()[i * 128 + j] ...
//     tile.store(c.row(i), 128, 128, c.columns);      // back up, if it was changed
//   }
//
// A cache holds the most recently used data; a tile fits if it is no larger than most_bytes(here), half of the child's
// cache. The body makes, uses and destroys the tile. cost: an allocation; load and store, a copy.
#pragma once

#include <situ/trees/place_tree.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace situ {

// A contiguous tile in the cache; see above.
template <class T>
class cache_tile {
  static_assert(std::is_trivially_copyable_v<T>, "situ: elements of a cache_tile are plain data, which copies move");

 public:
  // Returns the bytes of the largest tile that stays resident while other data stream through: half of the child's
  // cache, or 128 KiB if its size is unknown.
  [[nodiscard]] static std::size_t most_bytes(const tree_part& here) noexcept {
    return here.cache_bytes == 0 ? std::size_t{128} << 10 : static_cast<std::size_t>(here.cache_bytes / 2);
  }

  // Makes room for `elements` elements, uninitialized. Throws std::bad_alloc.
  cache_tile(const tree_part& here, std::size_t elements)
      : record_{here.record}, data_{static_cast<T*>(::operator new(elements * sizeof(T), alignment))} {}

  // Copies `rows` rows of `columns` elements, which begin `pitch` elements after each other from `from` on, into the
  // tile, contiguously. pre: the tile has room for them.
  void load(const T* from, std::size_t rows, std::size_t columns, std::size_t pitch) noexcept {
    for (std::size_t i = 0; i < rows; ++i) std::memcpy(data() + i * columns, from + i * pitch, columns * sizeof(T));
    count(rows * columns);
  }
  // Copies the rows of the tile back to the source of a load, or to another address.
  void store(T* to, std::size_t rows, std::size_t columns, std::size_t pitch) noexcept {
    for (std::size_t i = 0; i < rows; ++i) std::memcpy(to + i * pitch, data() + i * columns, columns * sizeof(T));
    count(rows * columns);
  }
  // Return the address of the elements.
  [[nodiscard]] T* data() noexcept { return data_.get(); }
  [[nodiscard]] const T* data() const noexcept { return data_.get(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct give_back {
    void operator()(T* data) const noexcept { ::operator delete(data, alignment); }
  };

  void count(std::size_t elements) noexcept {
    record_.local()->cached_bytes.fetch_add(elements * sizeof(T), std::memory_order_relaxed);  // relaxed: a statistic
  }

  ptr<detail::child_record> record_;
  std::unique_ptr<T, give_back> data_;
};

}  // namespace situ
