// placed_array<T>: rows of elements, each in the memory of the child of a place tree that holds it (place_tree.h), with
// copies of the neighbouring rows around each run (ghost rows).
//
//   situ::placed_array<double> u{rows, m, 1};  // size of `rows` x m, one ghost row on both sides
//   u.move_down(initial);                      // vertical: parent to children
//   u.copy_ghosts();                           // horizontal: between siblings
//   u.move_up(result);                         // vertical: children to parent
//
// The three moves are units with declared accesses: the calls return at once, and a unit begins once the data that it
// reads are there; all have ended after place_tree::wait(). Elements and ghost rows begin as zero bytes; ghost rows
// beyond the first and the last row stay zero. Movable, not copyable; belongs to the tree's thread. cost: a unit for
// each run of rows; a copy of the bytes.
#pragma once

#include <situ/base/detail/assert.h>
#include <situ/base/error.h>
#include <situ/trees/place_tree.h>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace situ {

// Rows of an array at the child that works on them. A value that can be sent to other places. Row indices are those of
// the whole array.
template <class T>
struct rows_view {
  ptr<T> first;             // the first element of row `low`
  std::ptrdiff_t low = 0;   // the first row of the view: that of the part, less the ghost rows
  std::ptrdiff_t high = 0;  // one behind the last row of the view
  std::size_t columns = 0;  // elements of a row

  // Returns the address of the first element of a row. pre: low <= i < high.
  [[nodiscard]] T* row(std::ptrdiff_t i) const noexcept {
    SITU_ASSERT(2, i >= low && i < high, "a row of a view lies within its part and the ghost rows around it");
    return first.local() + (i - low) * static_cast<std::ptrdiff_t>(columns);
  }
  // Returns an element. pre: low <= i < high, j < columns.
  [[nodiscard]] T& operator()(std::ptrdiff_t i, std::size_t j) const noexcept { return row(i)[j]; }
};

namespace detail {
[[noreturn]] void throw_not_aligned();

template <class T>
struct array_access;
}  // namespace detail

// An array over the children of a tree; see above.
template <class T>
class placed_array {
  static_assert(std::is_trivially_copyable_v<T>, "situ: elements of a placed_array are plain data, which copies move");

 public:
  // The element type, named as in the standard containers.
  using value_type = T;

  // Makes an array aligned with `rows`: as many rows, each of `columns` elements. Throws bad_argument for 0 columns,
  // out_of_memory, and place_lost_error.
  explicit placed_array(const placed_rows& rows, std::size_t columns = 1, std::size_t ghosts = 0)
      : slabs_{std::make_unique<detail::row_slabs>(rows.core(), detail::row_bytes_for(columns, sizeof(T)), ghosts)},
        rows_{rows},
        columns_{columns} {}

  // Return the rows that the array is aligned with, the elements of a row, and the ghost rows on each side.
  [[nodiscard]] const placed_rows& rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::size_t ghosts() const noexcept { return slabs_->ghosts(); }

  // Vertical: copies all elements from the parent's memory, in the order of C arrays, into the children's. `from` must
  // stay valid until wait(). Throws bad_address if the children are places and `from` is not in the job's memory.
  void move_down(const T* from) { slabs_->move_down(reinterpret_cast<const std::byte*>(from)); }
  void move_down(ptr<const T> from) { move_down(from.local()); }
  // Vertical: copies all elements back into the parent's memory, in the same order; `to` as in move_down.
  void move_up(T* to) { slabs_->move_up(reinterpret_cast<std::byte*>(to)); }
  void move_up(ptr<T> to) { move_up(to.local()); }
  // Horizontal: copies the ghost rows of each run from the runs that own them.
  void copy_ghosts() { slabs_->copy_ghosts(); }

  // For Situ itself.
  [[nodiscard]] const detail::row_slabs& slabs() const noexcept { return *slabs_; }

 private:
  std::unique_ptr<detail::row_slabs> slabs_;
  placed_rows rows_;
  std::size_t columns_;
};

namespace detail {

// An access of a loop to an array. T is const for reads.
template <class T>
struct array_access {
  using view = rows_view<T>;
  const row_slabs* slabs;
  std::size_t columns;
  access_mode mode;

  void check(const placed_rows_core& rows) const {
    if (slabs->rows().get() != &rows) throw_not_aligned();
  }
  // Returns the rows that a part of a run may access. A read includes the ghost rows: the part's neighbours are in the
  // run, or in the ghost rows around the run. A write covers the part's own rows only, since other parts write theirs
  // at the same time.
  [[nodiscard]] row_run reach(const row_run& part) const noexcept {
    const std::ptrdiff_t ghosts = mode == access_mode::read ? static_cast<std::ptrdiff_t>(slabs->ghosts()) : 0;
    return {part.begin - ghosts, part.end + ghosts, part.child};
  }
  [[nodiscard]] memory_region region(const row_run& run, const row_run& rows) const noexcept {
    return {row(run, rows.begin), static_cast<std::size_t>(rows.end - rows.begin) * slabs->row_bytes()};
  }
  void declare(const row_run& run, const row_run& part, std::vector<declared_access>& all) const {
    all.push_back({region(run, reach(part)), mode});
  }
  // Declares several runs of a child as one access, from the first to the last, including everything between them.
  void declare_all(const row_run& first, const row_run& last, std::vector<declared_access>& all) const {
    const auto ghosts = static_cast<std::ptrdiff_t>(slabs->ghosts());
    const std::byte* const begin = row(first, first.begin - ghosts);
    all.push_back({{begin, static_cast<std::size_t>(row(last, last.end + ghosts) - begin)},
                   mode == access_mode::read ? access_mode::read : access_mode::update});
  }
  [[nodiscard]] view view_of(const row_run& run, const row_run& part) const noexcept {
    const row_run all = reach(part);
    return {ptr<T>{reinterpret_cast<T*>(row(run, all.begin))}, all.begin, all.end, columns};
  }

 private:
  [[nodiscard]] std::byte* row(const row_run& run, std::ptrdiff_t i) const noexcept {
    return slabs->row(slabs->rows()->run_index(static_cast<std::size_t>(run.begin)), i);
  }
};

}  // namespace detail

// Declare how a loop accesses an array: place_tree::for_each. A read covers a part's rows and their ghost rows; a write
// or update covers a part's rows.
template <class T>
[[nodiscard]] detail::array_access<const T> reads(const placed_array<T>& array) {
  return {&array.slabs(), array.columns(), access_mode::read};
}
template <class T>
[[nodiscard]] detail::array_access<T> writes(const placed_array<T>& array) {
  return {&array.slabs(), array.columns(), access_mode::write};
}
template <class T>
[[nodiscard]] detail::array_access<T> updates(const placed_array<T>& array) {
  return {&array.slabs(), array.columns(), access_mode::update};
}

}  // namespace situ
