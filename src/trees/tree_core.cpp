#include <situ/base/error.h>
#include <situ/memory/allocate.h>
#include <situ/pages/memory_kind.h>
#include <situ/runtime/at.h>
#include <situ/runtime/runtime.h>
#include <situ/trees/detail/tree_core.h>

#include <fmt/format.h>

#include <algorithm>
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

// The body of copy(). It runs at the place that does the copy.
struct copy_rows {
  void operator()(ptr<const std::byte> from, std::size_t from_stride, ptr<std::byte> to, std::size_t to_stride,
                  std::size_t bytes, std::size_t rows) const {
    if (from_stride == bytes && to_stride == bytes) {
      std::memcpy(to.local(), from.local(), bytes * rows);
      return;
    }
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(to.local() + i * to_stride, from.local() + i * from_stride, bytes);
  }
};

}  // namespace

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

void tree_core::wait() { places_ != nullptr ? places_->wait() : units_->wait(); }
void tree_core::settle() noexcept { places_ != nullptr ? places_->settle() : units_->settle(); }

void tree_core::copy(const std::byte* from, std::size_t from_stride, std::byte* to, std::size_t to_stride,
                     std::size_t bytes, std::size_t rows) {
  const declared_access accesses[] = {{{from, bytes, rows, from_stride}, access_mode::read},
                                      {{to, bytes, rows, to_stride}, access_mode::write}};
  add(accesses, copy_rows{}, ptr<const std::byte>{from}, from_stride, ptr<std::byte>{to}, to_stride, bytes, rows);
}

}  // namespace situ::detail
