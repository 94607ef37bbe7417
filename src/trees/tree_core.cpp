#include <situ/base/error.h>
#include <situ/fabric/atomic.h>
#include <situ/fabric/detail/far.h>
#include <situ/fabric/rma.h>
#include <situ/memory/allocate.h>
#include <situ/pages/memory_kind.h>
#include <situ/runtime/at.h>
#include <situ/runtime/runtime.h>
#include <situ/trees/detail/tree_core.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "pages/page_source.h"

namespace situ::detail {
namespace {

constexpr std::size_t line_bytes = 64;

std::size_t whole_lines(std::size_t bytes) {
  return std::max(line_bytes, (bytes + line_bytes - 1) / line_bytes * line_bytes);
}

class tree_of_places final : public tree_core {
 public:
  explicit tree_of_places(tree_node root) : tree_core{std::move(root)} {
    places_ = std::make_unique<place_graph>();
    make_records();
  }
  ~tree_of_places() override { settle(); }

  child_memory allocate(std::uint32_t child, std::size_t bytes, std::string_view) override {
    const ptr<std::byte> made = at(
        place{child},
        [](std::size_t size) {
          const ptr<std::byte> block = situ::allocate_bytes(size, {.alignment = line_bytes});
          std::memset(block.local(), 0, size);  // by its own place, so that the pages are near to it
          return block;
        },
        whole_lines(bytes));
    return {made.local(), [](std::byte* block) { give_back(block); }};
  }
  [[nodiscard]] std::uint32_t host_of(std::uint32_t child) const noexcept override { return host_of_place(child); }

 private:
  // A block of a lost place is lost with it.
  static void give_back(std::byte* block) noexcept {
    try {
      deallocate(ptr<std::byte>{block});
    } catch (const error&) {}
  }
};

class tree_of_memories final : public tree_core {
 public:
  tree_of_memories(tree_node root, const std::vector<memory_kind>& memories, std::uint32_t threads)
      : tree_core{std::move(root)} {
    for (const memory_kind& each : memories) sources_.emplace_back(each);
    units_ = std::make_unique<task_graph>(task_graph_options{.threads = threads});
    make_records();
  }
  ~tree_of_memories() override { settle(); }

  child_memory allocate(std::uint32_t child, std::size_t bytes, std::string_view what) override {
    auto pages = std::make_shared<sourced_pages>(
        sources_[child].map(whole_lines(bytes), fmt::format("{} at {}", what, root_.children[child].name)));
    std::byte* const first = pages->data();
    return {std::move(pages), first};
  }

 private:
  std::vector<page_source> sources_;
};

// The body of copy(). It runs at the place that does the copy: one of the two whose memory it is.
struct copy_rows {
  static constexpr bool reaches_all_hosts = true;

  void operator()(ptr<const std::byte> from, std::size_t from_stride, ptr<std::byte> to, std::size_t to_stride,
                  std::size_t bytes, std::size_t rows) const {
    if (from_stride == bytes && to_stride == bytes) return copy_bytes_of_any_host(to, from, bytes * rows);
    if (current->far != nullptr) return copy_box(from, from_stride, to, to_stride, bytes, rows);
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(to.local() + i * to_stride, from.local() + i * from_stride, bytes);
  }

 private:
  static void copy_box(ptr<const std::byte> from, std::size_t from_stride, ptr<std::byte> to, std::size_t to_stride,
                       std::size_t bytes, std::size_t rows) {
    const std::array<std::ptrdiff_t, 2> from_strides{static_cast<std::ptrdiff_t>(from_stride), 1};
    const std::array<std::ptrdiff_t, 2> to_strides{static_cast<std::ptrdiff_t>(to_stride), 1};
    const std::array<std::size_t, 2> extents{rows, bytes};
    if (is_far(*current, from.place().index())) {
      const ptr<std::byte> source{const_cast<std::byte*>(from.local())};  // which is read only
      get_strided(to.local(), to_strides, source, from_strides, extents);
    } else {
      put_strided(to, to_strides, from.local(), from_strides, extents);
    }
  }
};

// The body of copy_first().
struct copy_run {
  static constexpr bool reaches_all_hosts = true;
  static constexpr bool goes_first = true;

  void operator()(ptr<const std::byte> from, ptr<std::byte> to, std::size_t bytes) const {
    copy_bytes_of_any_host(to, from, bytes);
  }
};

}  // namespace

void copy_bytes_of_any_host(ptr<std::byte> to, ptr<const std::byte> from, std::size_t bytes) {
  if (current->far == nullptr) {
    std::memcpy(to.local(), from.local(), bytes);
  } else {
    situ::copy(to, from, bytes);
  }
}

std::uint32_t host_of_place(std::uint32_t place) noexcept {
  return current->far == nullptr ? 0 : current->far->homes()[place].host;
}

std::size_t row_bytes_for(std::size_t columns, std::size_t size) {
  if (columns == 0) throw error{errc::bad_argument, "rows of 0 columns in a place tree: give 1 or more"};
  return bytes_for(columns, size);
}

void child_speed::note(std::uint64_t more_rows, std::uint64_t more_nanoseconds) noexcept {
  rows.fetch_add(more_rows, std::memory_order_relaxed);  // statistics: read when the units have ended
  nanoseconds.fetch_add(more_nanoseconds, std::memory_order_relaxed);
}

std::shared_ptr<tree_core> tree_core::of_places(tree_node shape) {
  return std::make_shared<tree_of_places>(std::move(shape));
}
std::shared_ptr<tree_core> tree_core::of_memories(tree_node shape, const std::vector<memory_kind>& memories,
                                                  std::uint32_t threads) {
  return std::make_shared<tree_of_memories>(std::move(shape), memories, threads);
}

tree_core::tree_core(tree_node root) : root_{std::move(root)} {}
tree_core::~tree_core() = default;

void tree_core::make_records() {
  for (std::uint32_t c = 0; c < children(); ++c) records_.push_back(allocate(c, sizeof(child_record), "a record"));
}

std::uint32_t tree_core::hosts() const noexcept {
  std::uint32_t last = 0;
  for (std::uint32_t c = 0; c < children(); ++c) last = std::max(last, host_of(c));
  return last + 1;
}

std::uint64_t tree_core::read(std::atomic<std::uint64_t>& counter) const {
  if (!has_places()) return counter.load(std::memory_order_relaxed);
  return atomic_load(ptr<std::uint64_t>{reinterpret_cast<std::uint64_t*>(&counter)});
}
void tree_core::reset(std::atomic<std::uint64_t>& counter) const {
  if (!has_places()) return counter.store(0, std::memory_order_relaxed);
  atomic_store(ptr<std::uint64_t>{reinterpret_cast<std::uint64_t*>(&counter)}, 0);
}

void tree_core::wait() { places_ != nullptr ? places_->wait() : units_->wait(); }
void tree_core::settle() noexcept { places_ != nullptr ? places_->settle() : units_->settle(); }

void tree_core::copy(const std::byte* from, std::size_t from_stride, std::byte* to, std::size_t to_stride,
                     std::size_t bytes, std::size_t rows) {
  const declared_access accesses[] = {{{from, bytes, rows, from_stride}, access_mode::read},
                                      {{to, bytes, rows, to_stride}, access_mode::write}};
  add(accesses, copy_rows{}, ptr<const std::byte>{from}, from_stride, ptr<std::byte>{to}, to_stride, bytes, rows);
}

void tree_core::copy_first(const std::byte* from, std::byte* to, std::size_t bytes) {
  const declared_access accesses[] = {{{from, bytes}, access_mode::read}, {{to, bytes}, access_mode::write}};
  add(accesses, copy_run{}, ptr<const std::byte>{from}, ptr<std::byte>{to}, bytes);
}

}  // namespace situ::detail
