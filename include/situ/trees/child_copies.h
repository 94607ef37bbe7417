// child_copies<T>: copies of a tile of the parent's memory, one in the memory of every child of a place tree
// (place_tree.h), for data that all children read. With two of them in turn, the next tile is moved down while the
// children work on the one before.
//
//   situ::child_copies<double> tile[2] = {{tree, rows, columns}, {tree, rows, columns}};
//   tile[k % 2].move_down(b + k * rows * n, rows, columns, n);      // vertical: a unit for each child
//   tree.for_each(rows_of_c, multiply, situ::updates(c), situ::reads(tile[k % 2]));
//
// Moves are units with declared accesses, as those of a placed_array. Movable, not copyable; belongs to the tree's
// thread. cost: some loads, unless a function says otherwise.
#pragma once

#include <situ/base/error.h>
#include <situ/trees/place_tree.h>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace situ {

// A child's copy of a tile. A value that can be sent to other places.
template <class T>
struct tile_view {
  ptr<T> first;
  std::size_t rows = 0;
  std::size_t columns = 0;  // elements of a row, and the distance from one row to the next

  // Returns the address of the first element of row i. pre: i < rows.
  [[nodiscard]] T* row(std::size_t i) const noexcept { return first.local() + i * columns; }
};

namespace detail {

// The memory of the copies, independent of the type of their elements.
class child_tiles {
 public:
  child_tiles(std::shared_ptr<tree_core> tree, std::size_t bytes);
  ~child_tiles();
  child_tiles(const child_tiles&) = delete;
  child_tiles& operator=(const child_tiles&) = delete;

  void move_down(const std::byte* from, std::size_t rows, std::size_t row_bytes, std::size_t stride);
  [[nodiscard]] std::byte* at(std::uint32_t child) const noexcept { return memory_[child].get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  void check_tree(const tree_core& other) const;

 private:
  std::shared_ptr<tree_core> tree_;
  std::size_t bytes_;
  std::vector<child_memory> memory_;
};

template <class T>
struct tile_access {
  using view = tile_view<const T>;
  const child_tiles* tiles;
  std::size_t rows, columns;

  void check(const placed_rows_core& of) const { tiles->check_tree(of.tree()); }
  void declare(const row_run& run, const row_run&, std::vector<declared_access>& all) const {
    all.push_back({{tiles->at(run.child), rows * columns * sizeof(T)}, access_mode::read});
  }
  void declare_all(const row_run& first, const row_run&, std::vector<declared_access>& all) const {
    declare(first, first, all);
  }
  [[nodiscard]] view view_of(const row_run& run, const row_run&) const noexcept {
    return {ptr<const T>{reinterpret_cast<const T*>(tiles->at(run.child))}, rows, columns};
  }
};

}  // namespace detail

// A copy of a tile of the parent's memory at every child; see above.
template <class T>
class child_copies {
  static_assert(std::is_trivially_copyable_v<T>, "situ: elements of child_copies are plain data, which copies move");

 public:
  // Makes room for tiles of `rows` x `columns` elements. Throws bad_argument for 0 columns, out_of_memory.
  child_copies(const place_tree& tree, std::size_t rows, std::size_t columns)
      : room_{detail::bytes_for(rows, detail::row_bytes_for(columns, sizeof(T)))},
        tiles_{std::make_unique<detail::child_tiles>(tree.core(), room_)} {}

  // Vertical: copies `rows` rows of `columns` elements, which begin `pitch` elements after each other from `from` on,
  // into every child's memory, contiguously. If the children are places, the source must be in the job's memory. Throws
  // bad_argument for more elements than there is room for. cost: a unit and a copy for each child.
  void move_down(const T* from, std::size_t rows, std::size_t columns, std::size_t pitch) {
    tiles_->move_down(reinterpret_cast<const std::byte*>(from), rows, columns * sizeof(T), pitch * sizeof(T));
    rows_ = rows;
    columns_ = columns;
  }
  void move_down(ptr<const T> from, std::size_t rows, std::size_t columns, std::size_t pitch) {
    move_down(from.local(), rows, columns, pitch);
  }

  // For Situ itself: returns the access by which a loop reads the current tile.
  [[nodiscard]] detail::tile_access<T> access() const noexcept { return {tiles_.get(), rows_, columns_}; }

 private:
  std::size_t room_;
  std::size_t rows_ = 0, columns_ = 0;
  std::unique_ptr<detail::child_tiles> tiles_;
};

// Declares that a loop reads copies: each child reads its own.
template <class T>
[[nodiscard]] detail::tile_access<T> reads(const child_copies<T>& copies) {
  return copies.access();
}

}  // namespace situ
