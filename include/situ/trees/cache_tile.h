// cache_tile<T>: the lowest level of a place tree: a tile that the body of a loop has copied out of its child's memory,
// in one piece, so that it stays in the cache while it is used often (vertical movement, section 2.1 of the paper).
//
//   [](const situ::tree_part& here, situ::rows_view<double> c, ...) {
//     situ::cache_tile<double> tile{here, 1 << 14};
//     tile.load(b.row(k), 128, 128, b.columns);       // down
//     ... tile.data()[i * 128 + j] ...
//     tile.store(c.row(i), 128, 128, c.columns);      // back up, where it was changed
//   }
//
// Caches hold what was used last; a tile fits if it is no larger than most_bytes(here), half of the child's cache. It
// is made, used and ended by the body. cost: an allocation; load and store, a copy.
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

// A tile in one piece, on its way through the cache; see above.
template <class T>
class cache_tile {
  static_assert(std::is_trivially_copyable_v<T>, "situ: elements of a cache_tile are plain data, which copies move");

 public:
  // Bytes of a tile that stays in the cache of a part's child beside what streams through: half of it; 128 KiB where
  // nobody knows its size.
  [[nodiscard]] static std::size_t most_bytes(const tree_part& here) noexcept {
    return here.cache_bytes == 0 ? std::size_t{128} << 10 : static_cast<std::size_t>(here.cache_bytes / 2);
  }

  // Room for so many elements, without values. Throws std::bad_alloc.
  cache_tile(const tree_part& here, std::size_t elements)
      : record_{here.record}, data_{static_cast<T*>(::operator new(elements * sizeof(T), alignment))} {}

  // `rows` rows of `columns` elements, which begin `pitch` elements after each other from `from` on: side by side here.
  // pre: there is room for them.
  void load(const T* from, std::size_t rows, std::size_t columns, std::size_t pitch) noexcept {
    for (std::size_t i = 0; i < rows; ++i) std::memcpy(data() + i * columns, from + i * pitch, columns * sizeof(T));
    count(rows * columns);
  }
  // Back to where a load came from, or elsewhere.
  void store(T* to, std::size_t rows, std::size_t columns, std::size_t pitch) noexcept {
    for (std::size_t i = 0; i < rows; ++i) std::memcpy(to + i * pitch, data() + i * columns, columns * sizeof(T));
    count(rows * columns);
  }
  // Its elements.
  [[nodiscard]] T* data() noexcept { return data_.get(); }
  [[nodiscard]] const T* data() const noexcept { return data_.get(); }

 private:
  static constexpr std::align_val_t alignment{64};
  struct give_back {
    void operator()(T* data) const noexcept { ::operator delete(data, alignment); }
  };

  void count(std::size_t elements) noexcept {
    record_.local()->cached_bytes.fetch_add(elements * sizeof(T), std::memory_order_relaxed);  // a statistic
  }

  ptr<detail::child_record> record_;
  std::unique_ptr<T, give_back> data_;
};

}  // namespace situ
