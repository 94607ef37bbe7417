// Rows dealt to children, and the arrays that are aligned with them.
#pragma once

#include <situ/memory/allocate.h>
#include <situ/trees/deal.h>
#include <situ/trees/detail/tree_core.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace situ {

// A run of contiguous rows at a child.
struct row_run {
  std::ptrdiff_t begin = 0;  // the first row
  std::ptrdiff_t end = 0;    // one behind the last
  std::uint32_t child = 0;

  friend bool operator==(const row_run&, const row_run&) = default;
};

namespace detail {

class row_slabs;

class placed_rows_core {
 public:
  placed_rows_core(std::shared_ptr<tree_core> tree, std::size_t rows, deal how);

  ~placed_rows_core();
  placed_rows_core(const placed_rows_core&) = delete;
  placed_rows_core& operator=(const placed_rows_core&) = delete;

  [[nodiscard]] tree_core& tree() const noexcept { return *tree_; }
  [[nodiscard]] std::size_t size() const noexcept { return rows_; }
  [[nodiscard]] const deal& how() const noexcept { return how_; }
  [[nodiscard]] std::span<const row_run> runs() const noexcept { return {runs_.data(), runs_.size()}; }
  [[nodiscard]] const row_run& run_of(std::size_t row) const noexcept { return runs_[run_index(row)]; }
  [[nodiscard]] std::size_t run_index(std::size_t row) const noexcept;
  [[nodiscard]] std::vector<std::size_t> counts() const;
  // Returns the number of parallel parts into which a run of a child is cut.
  [[nodiscard]] std::ptrdiff_t workers_of(std::uint32_t child) const noexcept;
  // Returns whether there are so many runs that one unit executes several: with a cyclic deal, a unit for each row
  // would cost more than the row.
  [[nodiscard]] bool is_fine() const noexcept { return runs_.size() > std::size_t{16} * tree_->children(); }
  // Returns, for each worker of each child, the indices of the runs that it executes, in order.
  [[nodiscard]] std::vector<std::vector<std::size_t>> groups() const;
  [[nodiscard]] child_speed& speed(std::uint32_t child) const noexcept {
    return *reinterpret_cast<child_speed*>(speeds_[child].get());
  }
  [[nodiscard]] std::vector<double> speeds() const;
  // Throws bad_argument if the rows belong to another tree.
  void check_tree(const tree_core& other) const;

  // Counts a loop over these rows that has been added.
  void has_run() noexcept { ++loops_; }
  // Balances, if the policy says so and enough loops have run.
  void settle();
  void balance();

  void enter(row_slabs& array);
  void leave(row_slabs& array) noexcept;

 private:
  [[nodiscard]] std::vector<row_run> dealt(const deal& how) const;
  [[nodiscard]] std::vector<double> modelled_weights() const;
  [[nodiscard]] std::vector<double> measured_weights() const;

  std::shared_ptr<tree_core> tree_;
  std::size_t rows_;
  deal how_;
  std::vector<row_run> runs_;  // in the order of their rows; none is empty
  std::vector<child_memory> speeds_;
  std::vector<row_slabs*> arrays_;
  std::uint64_t loops_ = 0;
  std::uint64_t next_balance_ = 1;  // the number of loops after which to balance
};

// The memory of an array, independent of the type of its elements: for each run its rows with ghost rows, in its
// child's memory.
class row_slabs {
 public:
  row_slabs(std::shared_ptr<placed_rows_core> rows, std::size_t row_bytes, std::size_t ghosts);
  ~row_slabs();
  row_slabs(const row_slabs&) = delete;
  row_slabs& operator=(const row_slabs&) = delete;

  [[nodiscard]] const std::shared_ptr<placed_rows_core>& rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t ghosts() const noexcept { return ghosts_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
  // Returns the address of a row of a run, or of a ghost row around it.
  [[nodiscard]] std::byte* row(std::size_t run, std::ptrdiff_t row) const noexcept {
    const std::ptrdiff_t first = rows_->runs()[run].begin - static_cast<std::ptrdiff_t>(ghosts_);
    return first_[run] + (row - first) * static_cast<std::ptrdiff_t>(row_bytes_);
  }

  void move_down(const std::byte* from);
  void move_up(std::byte* to);
  void copy_ghosts();
  // Move the rows to the memory of other runs, in three steps, of which only the second adds units: allocate the
  // memory; copy all rows there; switch to it, after the rows' runs have become `next`. drop_move() undoes the first
  // step.
  void prepare_move(std::span<const row_run> next);
  void move_across(std::span<const row_run> next);
  void end_move();
  void drop_move() noexcept;

 private:
  // Allocates memory for runs, and computes the address at which each begins, ghost rows first.
  void allocate(std::span<const row_run> runs, std::vector<child_memory>& memory, std::vector<std::byte*>& first,
                std::vector<std::size_t>& bytes) const;
  // Returns the region of all memory at a child.
  [[nodiscard]] memory_region region_of(std::uint32_t child) const noexcept {
    return {memory_[child].get(), child_bytes_[child]};
  }
  // A copy that fills some of the ghost rows [begin, end) of a run, with rows of a single other run.
  struct ghost_piece {
    const std::byte* from;
    std::byte* to;
    std::size_t bytes;
  };
  void find_ghosts(std::size_t run, std::ptrdiff_t begin, std::ptrdiff_t end, std::vector<ghost_piece>& pieces);
  void copy_together(std::uint32_t child, const std::vector<ghost_piece>& pieces);

  std::shared_ptr<placed_rows_core> rows_;
  std::size_t row_bytes_;
  std::size_t ghosts_;
  bool has_ghosts_ = false;                // whether ghost rows were copied since the array was made
  std::vector<child_memory> memory_;       // the memory of each child
  std::vector<std::byte*> first_;          // the first ghost row of each run
  std::vector<std::size_t> child_bytes_;   // the bytes of each child's memory
  std::vector<child_memory> next_memory_;  // memory of a move that is prepared
  std::vector<std::size_t> next_bytes_;
  std::vector<std::byte*> next_first_;
};

// A word of this place's segment, which places increment.
class run_counter {
 public:
  run_counter() : word_{allocate<std::uint64_t>()} { *word_.local() = 0; }
  ~run_counter() { deallocate(word_); }
  run_counter(const run_counter&) = delete;
  run_counter& operator=(const run_counter&) = delete;
  [[nodiscard]] ptr<std::uint64_t> word() const noexcept { return word_; }

 private:
  ptr<std::uint64_t> word_;
};

}  // namespace detail
}  // namespace situ
