#include <situ/base/error.h>
#include <situ/trees/detail/placed_rows_core.h>
#include <situ/trees/placed_array.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace situ::detail {
namespace {

constexpr std::size_t line = 64;

struct travelling_piece {
  ptr<const std::byte> from;
  ptr<std::byte> to;
  std::size_t bytes;
};

struct copy_pieces {
  static constexpr bool reaches_all_hosts = true;
  static constexpr bool goes_first = true;

  void operator()(const std::vector<travelling_piece>& pieces) const {
    for (const travelling_piece& each : pieces) copy_bytes_of_any_host(each.to, each.from, each.bytes);
  }
};

std::size_t rows_of(const row_run& run) { return static_cast<std::size_t>(run.end - run.begin); }

}  // namespace

void throw_not_aligned() {
  throw error{errc::bad_argument,
              "an array of other rows than the loop's: make it of the same placed_rows, or loop over array.rows()"};
}

row_slabs::row_slabs(std::shared_ptr<placed_rows_core> rows, std::size_t row_bytes, std::size_t ghosts)
    : rows_{std::move(rows)}, row_bytes_{row_bytes}, ghosts_{ghosts} {
  allocate(rows_->runs(), memory_, first_, child_bytes_);
  rows_->enter(*this);
}

row_slabs::~row_slabs() {
  rows_->tree().settle();
  rows_->leave(*this);
}

void row_slabs::allocate(std::span<const row_run> runs, std::vector<child_memory>& memory,
                         std::vector<std::byte*>& first, std::vector<std::size_t>& bytes) const {
  tree_core& tree = rows_->tree();
  std::vector<std::size_t> offset;
  bytes.assign(tree.children(), 0);
  for (const row_run& run : runs) {
    offset.push_back(bytes[run.child]);
    const std::size_t slab = bytes_for(rows_of(run) + 2 * ghosts_, row_bytes_);
    bytes[run.child] += (slab + line - 1) / line * line;  // runs share no line
  }
  for (std::uint32_t c = 0; c < tree.children(); ++c)
    memory.push_back(bytes[c] == 0 ? nullptr : tree.allocate(c, bytes[c], "an array's rows"));
  for (std::size_t i = 0; i < runs.size(); ++i)
    first.push_back(bytes[runs[i].child] == 0 ? nullptr : memory[runs[i].child].get() + offset[i]);
}

void row_slabs::move_down(const std::byte* from) {
  rows_->settle();
  for (std::size_t c = 0; c < rows_->runs().size(); ++c) {
    const row_run& run = rows_->runs()[c];
    const std::size_t bytes = rows_of(run) * row_bytes_;
    rows_->tree().copy(from + static_cast<std::size_t>(run.begin) * row_bytes_, bytes, row(c, run.begin), bytes, bytes,
                       1);
    rows_->tree().traffic.down += bytes;
  }
}

void row_slabs::move_up(std::byte* to) {
  rows_->settle();
  for (std::size_t c = 0; c < rows_->runs().size(); ++c) {
    const row_run& run = rows_->runs()[c];
    const std::size_t bytes = rows_of(run) * row_bytes_;
    rows_->tree().copy(row(c, run.begin), bytes, to + static_cast<std::size_t>(run.begin) * row_bytes_, bytes, bytes,
                       1);
    rows_->tree().traffic.up += bytes;
  }
}

void row_slabs::copy_ghosts() {
  rows_->settle();
  has_ghosts_ = true;
  tree_core& tree = rows_->tree();
  const auto ghosts = static_cast<std::ptrdiff_t>(ghosts_), all = static_cast<std::ptrdiff_t>(rows_->size());
  std::vector<std::vector<ghost_piece>> at(tree.children());
  for (std::size_t c = 0; c < rows_->runs().size(); ++c) {
    const row_run& run = rows_->runs()[c];
    find_ghosts(c, std::max<std::ptrdiff_t>(0, run.begin - ghosts), run.begin, at[run.child]);
    find_ghosts(c, run.end, std::min(all, run.end + ghosts), at[run.child]);
  }
  for (std::uint32_t c = 0; c < at.size(); ++c) {
    if (rows_->is_fine())
      copy_together(c, at[c]);
    else
      for (const ghost_piece& each : at[c]) tree.copy_first(each.from, each.to, each.bytes);
  }
}

void row_slabs::find_ghosts(std::size_t run, std::ptrdiff_t begin, std::ptrdiff_t end,
                            std::vector<ghost_piece>& pieces) {
  while (begin < end) {
    const std::size_t source = rows_->run_index(static_cast<std::size_t>(begin));
    const row_run& there = rows_->runs()[source];
    const std::ptrdiff_t last = std::min(end, there.end);
    const std::size_t bytes = static_cast<std::size_t>(last - begin) * row_bytes_;
    pieces.push_back({row(source, begin), row(run, begin), bytes});
    if (there.child != rows_->runs()[run].child) rows_->tree().traffic.across += bytes;
    begin = last;
  }
}

// Copies all ghost rows of a child in one unit.
void row_slabs::copy_together(std::uint32_t child, const std::vector<ghost_piece>& pieces) {
  if (pieces.empty()) return;
  std::vector<declared_access> accesses{{region_of(child), access_mode::update}};
  for (std::uint32_t c = 0; c < memory_.size(); ++c)
    if (c != child && memory_[c] != nullptr) accesses.push_back({region_of(c), access_mode::read});
  std::vector<travelling_piece> all;
  for (const ghost_piece& each : pieces)
    all.push_back({ptr<const std::byte>{each.from}, ptr<std::byte>{each.to}, each.bytes});
  rows_->tree().add(accesses, copy_pieces{}, std::move(all));
}

void row_slabs::prepare_move(std::span<const row_run> next) { allocate(next, next_memory_, next_first_, next_bytes_); }

void row_slabs::move_across(std::span<const row_run> next) {
  for (std::size_t c = 0; c < next.size(); ++c) {
    std::byte* to = next_first_[c] + ghosts_ * row_bytes_;
    for (std::ptrdiff_t begin = next[c].begin; begin < next[c].end;) {
      const std::size_t source = rows_->run_index(static_cast<std::size_t>(begin));
      const row_run& there = rows_->runs()[source];
      const std::ptrdiff_t end = std::min(next[c].end, there.end);
      const std::size_t bytes = static_cast<std::size_t>(end - begin) * row_bytes_;
      rows_->tree().copy(row(source, begin), bytes, to, bytes, bytes, 1);
      if (there.child != next[c].child) rows_->tree().traffic.across += bytes;
      to += bytes;
      begin = end;
    }
  }
}

void row_slabs::end_move() {
  memory_ = std::exchange(next_memory_, {});
  first_ = std::exchange(next_first_, {});
  child_bytes_ = std::exchange(next_bytes_, {});
  if (has_ghosts_) copy_ghosts();
}

void row_slabs::drop_move() noexcept {
  next_memory_.clear();
  next_first_.clear();
}

}  // namespace situ::detail
