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

// A run of rows that lie together at a child.
struct row_chunk {
  std::ptrdiff_t begin = 0;  // the first row
  std::ptrdiff_t end = 0;    // one behind the last
  std::uint32_t child = 0;

  friend bool operator==(const row_chunk&, const row_chunk&) = default;
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
  [[nodiscard]] std::span<const row_chunk> chunks() const noexcept { return chunks_; }
  [[nodiscard]] const row_chunk& chunk_of(std::size_t row) const noexcept { return chunks_[chunk_index(row)]; }
  [[nodiscard]] std::size_t chunk_index(std::size_t row) const noexcept;
  [[nodiscard]] std::vector<std::size_t> counts() const;
  // Parts of a chunk of a child that run side by side.
  [[nodiscard]] std::ptrdiff_t workers_of(std::uint32_t child) const noexcept;
  // Whether there are so many chunks that a unit does several: a unit for each row of a cyclic deal would cost more
  // than the row.
  [[nodiscard]] bool is_fine() const noexcept { return chunks_.size() > std::size_t{16} * tree_->children(); }
  // Chunks of a child, in their order, for each of its workers.
  [[nodiscard]] std::vector<std::vector<std::size_t>> groups() const;
  [[nodiscard]] child_speed& speed(std::uint32_t child) const noexcept {
    return *reinterpret_cast<child_speed*>(speeds_[child].get());
  }
  [[nodiscard]] std::vector<double> speeds() const;
  // Throws bad_argument for rows of another tree.
  void check_tree(const tree_core& other) const;

  // A loop over these rows has been added.
  void has_run() noexcept { has_run_ = true; }
  // Balances, where the policy says so and a loop has run.
  void settle();
  void balance();

  void enter(row_slabs& array) { arrays_.push_back(&array); }
  void leave(row_slabs& array) noexcept { std::erase(arrays_, &array); }

 private:
  [[nodiscard]] std::vector<row_chunk> dealt(const deal& how) const;
  [[nodiscard]] std::vector<double> modelled_weights() const;
  [[nodiscard]] std::vector<double> measured_weights() const;

  std::shared_ptr<tree_core> tree_;
  std::size_t rows_;
  deal how_;
  std::vector<row_chunk> chunks_;  // in the order of their rows; none is empty
  std::vector<child_memory> speeds_;
  std::vector<row_slabs*> arrays_;
  bool has_run_ = false;
  bool is_settled_;
};

// The memory of an array, without the type of its elements: for each chunk its rows with halos, in its child's memory.
class row_slabs {
 public:
  row_slabs(std::shared_ptr<placed_rows_core> rows, std::size_t row_bytes, std::size_t halo);
  ~row_slabs();
  row_slabs(const row_slabs&) = delete;
  row_slabs& operator=(const row_slabs&) = delete;

  [[nodiscard]] const std::shared_ptr<placed_rows_core>& rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t halo() const noexcept { return halo_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
  // A row of a chunk, or of the halo around it.
  [[nodiscard]] std::byte* row(std::size_t chunk, std::ptrdiff_t row) const noexcept {
    const std::ptrdiff_t first = rows_->chunks()[chunk].begin - static_cast<std::ptrdiff_t>(halo_);
    return first_[chunk] + (row - first) * static_cast<std::ptrdiff_t>(row_bytes_);
  }

  void move_down(const std::byte* from);
  void move_up(std::byte* to);
  void copy_halos();
  // Into the memory that other chunks say, in three steps, the first and last of which add no units: memory for them;
  // copies of all rows there; `next` are the rows' chunks now. drop_move() undoes the first.
  void prepare_move(std::span<const row_chunk> next);
  void move_across(std::span<const row_chunk> next);
  void end_move();
  void drop_move() noexcept;

 private:
  // Memory for chunks, and where in it each begins, halo first.
  void allocate(std::span<const row_chunk> chunks, std::vector<child_memory>& memory, std::vector<std::byte*>& first,
                std::vector<std::size_t>& bytes) const;
  // All memory at a child.
  [[nodiscard]] memory_region region_of(std::uint32_t child) const noexcept {
    return {memory_[child].get(), child_bytes_[child]};
  }
  // What makes up the halo rows [begin, end) of a chunk: each piece is of one chunk.
  struct halo_piece {
    const std::byte* from;
    std::byte* to;
    std::size_t bytes;
  };
  void find_halo(std::size_t chunk, std::ptrdiff_t begin, std::ptrdiff_t end, std::vector<halo_piece>& pieces);
  void copy_together(std::uint32_t child, const std::vector<halo_piece>& pieces);

  std::shared_ptr<placed_rows_core> rows_;
  std::size_t row_bytes_;
  std::size_t halo_;
  bool has_halos_ = false;                 // copied since the array was made
  std::vector<child_memory> memory_;       // of each child
  std::vector<std::byte*> first_;          // of each chunk: its halo's first row
  std::vector<std::size_t> child_bytes_;   // of it
  std::vector<child_memory> next_memory_;  // of a move
  std::vector<std::size_t> next_bytes_;
  std::vector<std::byte*> next_first_;
};

// A word of this place's segment, which places count up.
class chunk_counter {
 public:
  chunk_counter() : word_{allocate<std::uint64_t>()} { *word_.local() = 0; }
  ~chunk_counter() { deallocate(word_); }
  chunk_counter(const chunk_counter&) = delete;
  chunk_counter& operator=(const chunk_counter&) = delete;
  [[nodiscard]] ptr<std::uint64_t> word() const noexcept { return word_; }

 private:
  ptr<std::uint64_t> word_;
};

}  // namespace detail
}  // namespace situ
